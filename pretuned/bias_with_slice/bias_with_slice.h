// A bias added to matrices, and their first rows by themselves: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// full[b, n, m] = y[b, n, m] + bias[n], added in f32 and rounded once; part[b, n, m] = full[b, n, m] for n < S.
///
/// y, full: [B, N, M], part: [B, S, M] with S of at most N, all f16, bf16 or f32; bias: [N], one of these types. Any
/// strides, fastest when the last is 1. Outputs must not overlap inputs or each other. Asynchronous on `stream` (a
/// CUstream; CPU tensors: done on return). Errors: those of Kernel::call. `info`, if given, says which variant served
/// the call.
Status bias_with_slice(void* stream, const TensorView& y, const TensorView& bias, const TensorView& full,
                       const TensorView& part, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& bias_with_slice_kernel();

}  // namespace kaon
