// Whether a variant may serve a call: its guards against the call's slots.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/signature.h"
#include "runtime/base/variant.h"

namespace kaon::heuristics {

bool holds(const Signature& signature, const Guard& guard, const int64_t* slots);
/// Index of the first guard that refuses `slots`, or -1 when all hold.
int first_refusing(const Signature& signature, const std::vector<Guard>& guards, const int64_t* slots);
/// "N % 8 == 0", "N <= 14336", "span(x) <= 2147483647": for reports and generated comments.
std::string guard_text(const Signature& signature, const Guard& guard);
/// All guards joined by ", "; "none" for no guards.
std::string guards_text(const Signature& signature, const std::vector<Guard>& guards);

}  // namespace kaon::heuristics
