// Layer norm of a sum, and the sum: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// sum = x + residual, rounded once to its type; out = layer_norm(sum) as layer_norm() computes it.
///
/// x, residual, out, sum: [M, N], all f16, bf16 or f32; weight, bias: [N], both of one of these types. Any strides,
/// fastest when the last is 1. `sum` may be exactly `residual`; other overlaps are errors. M or N of 0 is a call
/// without work. Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call.
/// `info`, if given, says which variant served the call.
Status layer_norm_residual(void* stream, const TensorView& x, const TensorView& residual, const TensorView& weight,
                           const TensorView& bias, float eps, const TensorView& out, const TensorView& sum,
                           CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& layer_norm_residual_kernel();

}  // namespace kaon
