// Folds rows with equal ids: the typed host function.
#pragma once

#include <cstdint>

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

enum class Reduction : uint8_t { kSum, kMean, kMax };

/// out[s, f] = sum, mean or maximum over the rows e with ids[e] = s of x[e, f], folded in f32 and rounded once.
///
/// ids: [E], i32 or i64, ascending; ids that are no row of `out` are left out. x: [E, F], out: [S, F], both f16, bf16
/// or f32. Any strides, fastest when the last is 1. A segment without rows gives 0, NaN and -inf. `out` must not
/// overlap an input. Ids that do not ascend give some rows or other, never an access outside the tensors. Asynchronous
/// on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call. `info`, if given, says which
/// variant served the call.
Status segmented_reduction(void* stream, const TensorView& ids, const TensorView& x, Reduction reduction,
                           const TensorView& out, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& segmented_reduction_kernel();

}  // namespace kaon
