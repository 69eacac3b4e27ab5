// RMS norm of a sum, and the sum: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// sum = x + residual, rounded once to its type; out = rms_norm(sum) as rms_norm() computes it.
///
/// x, residual, out, sum: [M, N], all f16, bf16 or f32; weight: [N], one of these types. Any strides, fastest when the
/// last is 1. `out` may be exactly `x`, and `sum` exactly `residual`; other overlaps are errors. M or N of 0 is a call
/// without work. Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call.
/// `info`, if given, says which variant served the call.
Status fused_add_rms_norm(void* stream, const TensorView& x, const TensorView& residual, const TensorView& weight,
                          float eps, const TensorView& out, const TensorView& sum, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& fused_add_rms_norm_kernel();

}  // namespace kaon
