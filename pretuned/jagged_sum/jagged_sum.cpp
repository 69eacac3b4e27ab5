#include "pretuned/jagged_sum/jagged_sum.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& jagged_sum_kernel() {
  static const Kernel kernel = pretuned_kernel("jagged_sum");
  return kernel;
}

Status jagged_sum(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&x, &offsets, &out};
  return jagged_sum_kernel().call(stream, tensors, 3, nullptr, 0, info);
}

}  // namespace kaon
