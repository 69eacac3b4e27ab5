// Cross entropy of rows of logits against labels: the typed host function.
#pragma once

#include <cstdint>

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// loss[m] = log(sum_v exp(logits[m, v])) - (1 - smoothing) * logits[m, labels[m]] - smoothing * mean_v logits[m, v],
/// and 0 where labels[m] is `ignore_index`; computed in f32. PyTorch's cross_entropy with reduction="none" is this.
///
/// logits: [M, V], f16, bf16 or f32; labels: [M], i32 or i64; loss: [M], f32. Any strides, fastest when the last of the
/// logits is 1. A label that is neither a column nor ignored gives NaN. `loss` must not overlap an input.
/// Asynchronous on `stream` (a CUstream; CPU tensors: done on return). Errors: those of Kernel::call. `info`, if given,
/// says which variant served the call.
Status cross_entropy(void* stream, const TensorView& logits, const TensorView& labels, int64_t ignore_index,
                     float smoothing, const TensorView& loss, CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& cross_entropy_kernel();

}  // namespace kaon
