#include "pretuned/layer_norm/layer_norm.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& layer_norm_kernel() {
  static const Kernel kernel = pretuned_kernel("layer_norm");
  return kernel;
}

Status layer_norm(void* stream, const TensorView& x, const TensorView& weight, const TensorView& bias, float eps,
                  const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&x, &weight, &bias, &out};
  const ScalarValue scalars[] = {eps};
  return layer_norm_kernel().call(stream, tensors, 4, scalars, 1, info);
}

}  // namespace kaon
