#include "pretuned/rope/rope.h"

#include "pretuned/tables.h"

namespace kaon {

namespace {

constexpr float kForward = 1;
constexpr float kBackward = -1;

Status rotate(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines,
              const TensorView& sines, const TensorView& q_out, const TensorView& k_out, float direction,
              CallInfo* info) {
  const TensorView* tensors[] = {&q, &k, &cosines, &sines, &q_out, &k_out};
  const ScalarValue scalars[] = {direction};
  return rope_kernel().call(stream, tensors, 6, scalars, 1, info);
}

}  // namespace

const Kernel& rope_kernel() {
  static const Kernel kernel = pretuned_kernel("rope");
  return kernel;
}

Status rope(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines, const TensorView& sines,
            const TensorView& q_out, const TensorView& k_out, CallInfo* info) {
  return rotate(stream, q, k, cosines, sines, q_out, k_out, kForward, info);
}

Status rope_backward(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines,
                     const TensorView& sines, const TensorView& q_out, const TensorView& k_out, CallInfo* info) {
  return rotate(stream, q, k, cosines, sines, q_out, k_out, kBackward, info);
}

}  // namespace kaon
