// Which guard, if any, keeps a variant from a call.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/signature.h"
#include "runtime/base/status.h"
#include "runtime/base/variant.h"

namespace kaon::runner {

/// Empty when every guard holds; else the first that does not, with the value: "N % 8 == 0 does not hold, N is 127".
std::string refusing_guard(const Signature& signature, const VariantInfo& info, const int64_t* slots);

/// kInvalidArgument unless guards, steps and expressions of `info` fit `signature`, so that they can be evaluated.
Status validate(const Signature& signature, const VariantInfo& info);

}  // namespace kaon::runner
