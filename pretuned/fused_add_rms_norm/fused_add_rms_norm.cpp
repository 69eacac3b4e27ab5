#include "pretuned/fused_add_rms_norm/fused_add_rms_norm.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& fused_add_rms_norm_kernel() {
  static const Kernel kernel = pretuned_kernel("fused_add_rms_norm");
  return kernel;
}

Status fused_add_rms_norm(void* stream, const TensorView& x, const TensorView& residual, const TensorView& weight,
                          float eps, const TensorView& out, const TensorView& sum, CallInfo* info) {
  const TensorView* tensors[] = {&x, &residual, &weight, &out, &sum};
  const ScalarValue scalars[] = {eps};
  return fused_add_rms_norm_kernel().call(stream, tensors, 5, scalars, 1, info);
}

}  // namespace kaon
