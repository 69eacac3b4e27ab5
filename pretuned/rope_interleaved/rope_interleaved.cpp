#include "pretuned/rope_interleaved/rope_interleaved.h"

#include "pretuned/tables.h"

namespace kaon {

namespace {

constexpr float kForward = 1;
constexpr float kBackward = -1;

/// [B, S, heads, D] as [B, S, heads, D / 2, 2]. What is no such tensor stays as it is, for the call to refuse.
TensorView in_pairs(const TensorView& heads) {
  TensorView pairs = heads;
  if (heads.rank != 4 || heads.sizes[3] % 2 != 0) return pairs;
  pairs.rank = 5;
  pairs.sizes[3] = heads.sizes[3] / 2;
  pairs.strides[3] = heads.strides[3] * 2;
  pairs.sizes[4] = 2;
  pairs.strides[4] = heads.strides[3];
  return pairs;
}

Status rotate(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines,
              const TensorView& sines, const TensorView& q_out, const TensorView& k_out, float direction,
              CallInfo* info) {
  const TensorView pairs[] = {in_pairs(q), in_pairs(k), in_pairs(q_out), in_pairs(k_out)};
  const TensorView* tensors[] = {&pairs[0], &pairs[1], &cosines, &sines, &pairs[2], &pairs[3]};
  const ScalarValue scalars[] = {direction};
  return rope_interleaved_kernel().call(stream, tensors, 6, scalars, 1, info);
}

}  // namespace

const Kernel& rope_interleaved_kernel() {
  static const Kernel kernel = pretuned_kernel("rope_interleaved");
  return kernel;
}

Status rope_interleaved(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines,
                        const TensorView& sines, const TensorView& q_out, const TensorView& k_out, CallInfo* info) {
  return rotate(stream, q, k, cosines, sines, q_out, k_out, kForward, info);
}

Status rope_interleaved_backward(void* stream, const TensorView& q, const TensorView& k, const TensorView& cosines,
                                 const TensorView& sines, const TensorView& q_out, const TensorView& k_out,
                                 CallInfo* info) {
  return rotate(stream, q, k, cosines, sines, q_out, k_out, kBackward, info);
}

}  // namespace kaon
