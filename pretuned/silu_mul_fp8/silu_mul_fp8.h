// The gated unit, quantised: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[m, h] = silu(x[m, h]) * x[m, H + h] / scale[0], computed in f32, clamped to +-448 and rounded to f8e4m3.
///
/// x: [M, 2 H], f16, bf16 or f32; scale: [1], f32; out: [M, H], f8e4m3. Any strides, fastest when the last is 1. M or H
/// of 0 is a call without work. `out` must not overlap an input. Asynchronous on `stream` (a CUstream; CPU tensors:
/// done on return). Errors: those of Kernel::call. `info`, if given, says which variant served the call.
Status silu_mul_fp8(void* stream, const TensorView& x, const TensorView& scale, const TensorView& out,
                    CallInfo* info = nullptr);

/// The kernel behind it: preload(), query(). Its first tensor is [M, 2, H].
const Kernel& silu_mul_fp8_kernel();

}  // namespace kaon
