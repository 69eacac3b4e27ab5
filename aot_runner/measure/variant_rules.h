// Whether what a request says about a variant fits its kernel.
#pragma once

#include "runtime/base/signature.h"
#include "runtime/base/status.h"
#include "runtime/base/variant.h"

namespace kaon::runner {

/// kInvalidArgument unless guards, steps and expressions of `info` fit `signature`, so that they can be evaluated.
Status validate(const Signature& signature, const VariantInfo& info);

}  // namespace kaon::runner
