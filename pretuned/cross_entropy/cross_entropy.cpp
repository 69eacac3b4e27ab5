#include "pretuned/cross_entropy/cross_entropy.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& cross_entropy_kernel() {
  static const Kernel kernel = pretuned_kernel("cross_entropy");
  return kernel;
}

Status cross_entropy(void* stream, const TensorView& logits, const TensorView& labels, int64_t ignore_index,
                     float smoothing, const TensorView& loss, CallInfo* info) {
  const TensorView* tensors[] = {&logits, &labels, &loss};
  const ScalarValue scalars[] = {ignore_index, smoothing};
  return cross_entropy_kernel().call(stream, tensors, 3, scalars, 2, info);
}

}  // namespace kaon
