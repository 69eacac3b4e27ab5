#include "pretuned/vector_add/vector_add.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& vector_add_kernel() {
  static const Kernel kernel = pretuned_kernel("vector_add");
  return kernel;
}

Status vector_add(void* stream, const TensorView& x, const TensorView& y, const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&x, &y, &out};
  return vector_add_kernel().call(stream, tensors, 3, nullptr, 0, info);
}

}  // namespace kaon
