// Softmax over the rows of items of different lengths: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[r, f] = exp(x[r, f]) / sum of exp(x[s, f]) over the rows s of the item that r belongs to; computed in f32. Item
/// b has the rows from offsets[b] up to but not including offsets[b + 1].
///
/// x, out: [NNZ, F], both f16, bf16 or f32; offsets: [B + 1], i64. Any strides, fastest when the last is 1.
/// `offsets` starts at 0, ascends and ends at NNZ; anything else reads and writes outside the tensors. `out` must not
/// overlap an input. Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call.
/// `info`, if given, says which variant served the call.
Status jagged_softmax(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& out,
                      CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& jagged_softmax_kernel();

}  // namespace kaon
