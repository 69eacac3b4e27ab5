// Sums along long rows: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[m] = sum_n x[m, n], added up in f32 and rounded once.
///
/// x: [M, N], out: [M], both f16, bf16 or f32; any strides, fastest when the last of x is 1. Rows of N = 0 give 0.
/// `out` must not overlap x. Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of
/// Kernel::call. `info`, if given, says which variant served the call.
Status long_sum(void* stream, const TensorView& x, const TensorView& out, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& long_sum_kernel();

}  // namespace kaon
