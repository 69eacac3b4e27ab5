// Rows as 8-bit floats with a scale each: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// scale[m] = max_n |x[m, n]| / 448, at most `scale_limit` and at least 1 / (448 * 512); out[m, n] = x[m, n] /
/// scale[m], clamped to +-448 and rounded to f8e4m3.
///
/// x: [M, N], f16, bf16 or f32; out: [M, N], f8e4m3; scale: [M], f32. Any strides, fastest when the last is 1. A
/// `scale_limit` of infinity is no limit. Outputs must not overlap x.
/// Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call. `info`, if given,
/// says which variant served the call.
Status dynamic_per_token_fp8_quant(void* stream, const TensorView& x, float scale_limit, const TensorView& out,
                                   const TensorView& scale, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& dynamic_per_token_fp8_quant_kernel();

}  // namespace kaon
