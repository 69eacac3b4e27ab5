// Rows of different lengths added to those of a matrix: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[b, n] = dense[b, n] + x[offsets[b] + n] where offsets[b] + n < offsets[b + 1], and dense[b, n] elsewhere;
/// rounded once.
///
/// x: [NNZ], dense, out: [B, N], all f16, bf16 or f32; offsets: [B + 1], i64. What a packed row has beyond N is left
/// out. Any strides, fastest when the last is 1. `offsets` starts at 0, ascends and ends at NNZ; anything else reads
/// and writes outside the tensors. `out` must not overlap an input. Asynchronous on `stream` (a CUstream; CPU tensors:
/// done on return). Errors: those of Kernel::call. `info`, if given, says which variant served the call.
Status jagged_dense_add(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& dense,
                        const TensorView& out, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& jagged_dense_add_kernel();

}  // namespace kaon
