#include "pretuned/segmented_reduction/segmented_reduction.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& segmented_reduction_kernel() {
  static const Kernel kernel = pretuned_kernel("segmented_reduction");
  return kernel;
}

Status segmented_reduction(void* stream, const TensorView& ids, const TensorView& x, Reduction reduction,
                           const TensorView& out, CallInfo* info) {
  const TensorView* tensors[] = {&ids, &x, &out};
  const ScalarValue scalars[] = {static_cast<int64_t>(reduction)};
  return segmented_reduction_kernel().call(stream, tensors, 3, scalars, 1, info);
}

}  // namespace kaon
