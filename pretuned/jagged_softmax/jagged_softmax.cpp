#include "pretuned/jagged_softmax/jagged_softmax.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& jagged_softmax_kernel() {
  static const Kernel kernel = pretuned_kernel("jagged_softmax");
  return kernel;
}

Status jagged_softmax(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& out,
                      CallInfo* info) {
  const TensorView* tensors[] = {&x, &offsets, &out};
  return jagged_softmax_kernel().call(stream, tensors, 3, nullptr, 0, info);
}

}  // namespace kaon
