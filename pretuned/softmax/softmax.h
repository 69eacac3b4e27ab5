// Row softmax: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[m, n] = exp(x[m, n] - max_n x[m, n]) / sum_n exp(x[m, n] - max_n x[m, n]), computed in f32.
///
/// x, out: [M, N], both f16, bf16 or f32; any strides, fastest when the last is 1. `out` must not overlap x.
/// M or N of 0 is a call without work. A row that holds NaN or +inf, or only -inf, becomes NaN, as in PyTorch.
/// Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call. `info`, if given,
/// says which variant served the call.
Status softmax(void* stream, const TensorView& x, const TensorView& out, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& softmax_kernel();

}  // namespace kaon
