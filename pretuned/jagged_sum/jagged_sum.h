// Sums over the rows of items of different lengths: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[b, f] = sum of x[r, f] over the rows r of item b, from offsets[b] up to but not including offsets[b + 1]; added
/// up in f32 and rounded once. An item without rows gives 0.
///
/// x: [NNZ, F], out: [B, F], both f16, bf16 or f32; offsets: [B + 1], i64. Any strides, fastest when the last is 1.
/// `offsets` starts at 0, ascends and ends at NNZ; anything else reads and writes outside the tensors. `out` must not
/// overlap an input. Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call.
/// `info`, if given, says which variant served the call.
Status jagged_sum(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& out,
                  CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& jagged_sum_kernel();

}  // namespace kaon
