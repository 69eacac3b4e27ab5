// Rotary position embedding, interleaved pairs: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// Rotates elements 2 i and 2 i + 1 of each head of the queries and keys by its position's angles:
/// (a, b) becomes (a cos - b sin, b cos + a sin), computed in f32.
///
/// q, q_out: [B, S, Q, D], k, k_out: [B, S, K, D], all f16, bf16 or f32, with any numbers Q and K of heads of an even
/// length D; cosines, sines: [S, D / 2], both of one of these types, not necessarily the same. Any strides, so [B, Q,
/// S, D] in memory is a transposed view; fastest when the last is 1. `q_out` may be exactly `q`, and `k_out` exactly
/// `k`. Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call. `info`, if
/// given, says which variant served the call.
Status rope_interleaved(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines,
                        const TensorView& sines, const TensorView& q_out, const TensorView& k_out,
                        CallInfo* info = nullptr);

/// The same with angles of the opposite sign: gradients of `q` and `k` from those of `q_out` and `k_out`.
Status rope_interleaved_backward(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines,
                                 const TensorView& sines, const TensorView& q_out, const TensorView& k_out,
                                 CallInfo* info = nullptr);

/// The kernel behind both: preload(), query(). Its tensors have an axis of extent 2 more than those above: [B, S, Q, D
/// / 2, 2].
const Kernel& rope_interleaved_kernel();

}  // namespace kaon
