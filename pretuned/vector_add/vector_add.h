// Elementwise sum of two vectors: the typed host function.
#pragma once

#include "runtime/launch/kernel.h"
#include "runtime/launch/tensor.h"

namespace kaon {

/// out[n] = x[n] + y[n], rounded once to the element type.
///
/// x, y, out: [N], all f16, bf16 or f32; any strides, fastest when they are 1. `out` must not overlap x or y.
/// N of 0 is a call without work. Asynchronous on `stream` (a CUstream; CPU tensors: done on return).
/// Errors: those of Kernel::call. `info`, if given, says which variant served the call.
Status vector_add(void* stream, const TensorView& x, const TensorView& y, const TensorView& out,
                  CallInfo* info = nullptr);

/// The kernel behind it: preload(), query().
const Kernel& vector_add_kernel();

}  // namespace kaon
