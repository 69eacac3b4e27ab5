#include "pretuned/long_sum/long_sum.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& long_sum_kernel() {
  static const Kernel kernel = pretuned_kernel("long_sum");
  return kernel;
}

Status long_sum(void* stream, const TensorView& x, const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&x, &out};
  return long_sum_kernel().call(stream, tensors, 2, nullptr, 0, info);
}

}  // namespace kaon
