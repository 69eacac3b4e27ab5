#include "pretuned/jagged_mean/jagged_mean.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& jagged_mean_kernel() {
  static const Kernel kernel = pretuned_kernel("jagged_mean");
  return kernel;
}

Status jagged_mean(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& features,
                   const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&x, &offsets, &features, &out};
  return jagged_mean_kernel().call(stream, tensors, 4, nullptr, 0, info);
}

}  // namespace kaon
