#include "pretuned/jagged_dense_add/jagged_dense_add.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& jagged_dense_add_kernel() {
  static const Kernel kernel = pretuned_kernel("jagged_dense_add");
  return kernel;
}

Status jagged_dense_add(void* stream, const TensorView& x, const TensorView& offsets, const TensorView& dense,
                        const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&x, &offsets, &dense, &out};
  return jagged_dense_add_kernel().call(stream, tensors, 4, nullptr, 0, info);
}

}  // namespace kaon
