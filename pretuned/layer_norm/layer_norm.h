// Layer norm over rows: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[m, n] = (x[m, n] - mean_n x[m, n]) / sqrt(variance_n x[m, n] + eps) * weight[n] + bias[n], computed in f32; the
/// variance is that of the row as it is (divided by N).
///
/// x, out: [M, N], both f16, bf16 or f32; weight, bias: [N], both of one of these types, not necessarily the same. Any
/// strides, fastest when the last is 1. `out` must not overlap an input. M or N of 0 is a call without work.
/// Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call. `info`, if given,
/// says which variant served the call.
Status layer_norm(void* stream, const TensorView& x, const TensorView& weight, const TensorView& bias, float eps,
                  const TensorView& out, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& layer_norm_kernel();

}  // namespace kaon
