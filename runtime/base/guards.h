// Whether a variant accepts a call: its guards against the call's slots, and the same in words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/signature.h"
#include "runtime/base/variant.h"

namespace kaon {

/// Elements between the lowest and the highest one of `tensor`; 0 for an empty tensor, INT64_MAX for what is beyond it.
int64_t tensor_span(const Signature& signature, int tensor, const int64_t* slots);

/// For a `divisor` above 0. Nearly all are powers of two, for which this needs no division.
inline bool is_multiple(int64_t value, int64_t divisor) {
  return (divisor & (divisor - 1)) == 0 ? (value & (divisor - 1)) == 0 : value % divisor == 0;
}

/// Whether one guard holds. Its slots must lie within `signature`, and a divisor must be above 0.
inline bool holds(const Signature& signature, const Guard& guard, const int64_t* slots) {
  switch (guard.kind) {
    case GuardKind::kDivisible: return is_multiple(slots[guard.slot], guard.value);
    case GuardKind::kEqual: return slots[guard.slot] == guard.value;
    case GuardKind::kAtMost: return slots[guard.slot] <= guard.value;
    case GuardKind::kAtLeast: return slots[guard.slot] >= guard.value;
    case GuardKind::kCongruent: return is_multiple(slots[guard.slot] - slots[guard.other], guard.value);
    case GuardKind::kSpanAtMost: return tensor_span(signature, guard.slot, slots) <= guard.value;
  }
  return false;
}

/// Index of the first guard that refuses `slots`, or -1 when all hold.
inline int first_refusing(const Signature& signature, const std::vector<Guard>& guards, const int64_t* slots) {
  for (size_t i = 0; i < guards.size(); ++i) {
    if (!holds(signature, guards[i], slots)) return static_cast<int>(i);
  }
  return -1;
}

/// "N % 8 == 0", "N <= 14336", "span(x) <= 2147483647".
std::string guard_text(const Signature& signature, const Guard& guard);
/// All guards joined by ", "; "none" for no guards.
std::string guards_text(const Signature& signature, const std::vector<Guard>& guards);
/// Empty when every guard holds; else the first that does not, with the values: "N % 8 == 0 does not hold, N is 127".
std::string refusing_guard(const Signature& signature, const std::vector<Guard>& guards, const int64_t* slots);

}  // namespace kaon
