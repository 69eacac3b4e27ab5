#include "pretuned/softmax/softmax.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& softmax_kernel() {
  static const Kernel kernel = pretuned_kernel("softmax");
  return kernel;
}

Status softmax(void* stream, const TensorView& x, const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&x, &out};
  return softmax_kernel().call(stream, tensors, 2, nullptr, 0, info);
}

}  // namespace kaon
