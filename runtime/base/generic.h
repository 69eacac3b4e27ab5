// What makes a variant generic: it serves every legal call, but for the values that a kernel is specialised on.
#pragma once

#include <vector>

#include "runtime/base/signature.h"
#include "runtime/base/variant.h"

namespace kaon {

/// Whether `guards` ask for nothing but values of dimensions: those of a generic variant, which ask for nothing at all
/// unless the kernel is compiled for fixed values of some dimensions.
bool only_fix_dims(const Signature& signature, const std::vector<Guard>& guards);

}  // namespace kaon
