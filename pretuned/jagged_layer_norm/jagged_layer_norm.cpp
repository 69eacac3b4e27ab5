#include "pretuned/jagged_layer_norm/jagged_layer_norm.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& jagged_layer_norm_kernel() {
  static const Kernel kernel = pretuned_kernel("jagged_layer_norm");
  return kernel;
}

Status jagged_layer_norm(void* stream, const TensorView& x, const TensorView& offsets, float eps, const TensorView& out,
                         CallInfo* info) {
  const TensorView* tensors[] = {&x, &offsets, &out};
  const ScalarValue scalars[] = {eps};
  return jagged_layer_norm_kernel().call(stream, tensors, 3, scalars, 1, info);
}

}  // namespace kaon
