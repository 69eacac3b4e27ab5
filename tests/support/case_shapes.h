// Calls of a kernel as rows of slots: from named values, and named values found for it where nobody wrote any.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/signature.h"
#include "runtime/base/variant.h"
#include "tests/support/case_file.h"

namespace kaon::compiler {

/// Slots with the dimensions and scalars of `shape`, contiguous strides and pointers that are aligned to 256 bytes.
/// kInvalidArgument when a value is missing, unknown, no integer or breaks a `require`, or an extent is negative.
Result<std::vector<int64_t>> shape_slots(const Signature& signature, const CaseShape& shape);

/// Extents of each tensor.
std::vector<std::vector<int64_t>> tensor_sizes(const Signature& signature, const std::vector<int64_t>& slots);

/// Bits of the scalar parameters.
std::vector<int64_t> scalar_bits(const Signature& signature, const std::vector<int64_t>& slots);

/// Up to five small shapes that the signature accepts: empty, single, odd, even and mixed extents; with the values that
/// `guards`, of the kernel before any config, ask of dimensions.
std::vector<CaseShape> automatic_shapes(const Signature& signature, const std::vector<Guard>& guards, uint64_t seed);

}  // namespace kaon::compiler
