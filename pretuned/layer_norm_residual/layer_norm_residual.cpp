#include "pretuned/layer_norm_residual/layer_norm_residual.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& layer_norm_residual_kernel() {
  static const Kernel kernel = pretuned_kernel("layer_norm_residual");
  return kernel;
}

Status layer_norm_residual(void* stream, const TensorView& x, const TensorView& residual, const TensorView& weight,
                           const TensorView& bias, float eps, const TensorView& out, const TensorView& sum,
                           CallInfo* info) {
  const TensorView* tensors[] = {&x, &residual, &weight, &bias, &out, &sum};
  const ScalarValue scalars[] = {eps};
  return layer_norm_residual_kernel().call(stream, tensors, 6, scalars, 1, info);
}

}  // namespace kaon
