// Means over the rows of items of different lengths and widths: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[b, m] = mean of x[r, m] over the rows r of item b, from offsets[b] up to but not including offsets[b + 1], for
/// m < features[b]; 0 for the other m, and for an item without rows. Added up in f32 and rounded once.
///
/// x: [NNZ, M], out: [B, M], both f16, bf16 or f32; offsets: [B + 1], i64; features: [B], i32, at most M. Any strides,
/// fastest when the last is 1. `offsets` starts at 0, ascends and ends at NNZ; anything else reads and writes outside
/// the tensors. `out` must not overlap an input. Asynchronous on `stream` (a CUstream; CPU tensors: done on return).
/// Errors: those of Kernel::call. `info`, if given, says which variant served the call.
Status jagged_mean(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& features,
                   const TensorView& out, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& jagged_mean_kernel();

}  // namespace kaon
