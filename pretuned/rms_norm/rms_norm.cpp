#include "pretuned/rms_norm/rms_norm.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& rms_norm_kernel() {
  static const Kernel kernel = pretuned_kernel("rms_norm");
  return kernel;
}

Status rms_norm(void* stream, const TensorView& x, const TensorView& weight, float eps, const TensorView& out,
                CallInfo* info) {
  const TensorView* tensors[] = {&x, &weight, &out};
  const ScalarValue scalars[] = {eps};
  return rms_norm_kernel().call(stream, tensors, 3, scalars, 1, info);
}

}  // namespace kaon
