#include "pretuned/bias_with_slice/bias_with_slice.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& bias_with_slice_kernel() {
  static const Kernel kernel = pretuned_kernel("bias_with_slice");
  return kernel;
}

Status bias_with_slice(void* stream, const TensorView& y, const TensorView& bias, const TensorView& full,
                       const TensorView& part, CallInfo* info) {
  const TensorView* tensors[] = {&y, &bias, &full, &part};
  return bias_with_slice_kernel().call(stream, tensors, 4, nullptr, 0, info);
}

}  // namespace kaon
