#include "pretuned/silu_mul_fp8/silu_mul_fp8.h"

#include "pretuned/tables.h"

namespace kaon {

namespace {

/// [M, 2 H] as [M, 2, H]. What is no such tensor stays as it is, for the call to refuse.
TensorView in_halves(const TensorView& rows) {
  TensorView halves = rows;
  if (rows.rank != 2 || rows.sizes[1] % 2 != 0) return halves;
  halves.rank = 3;
  halves.sizes[1] = 2;
  halves.sizes[2] = rows.sizes[1] / 2;
  halves.strides[1] = rows.strides[1] * halves.sizes[2];
  halves.strides[2] = rows.strides[1];
  return halves;
}

}  // namespace

const Kernel& silu_mul_fp8_kernel() {
  static const Kernel kernel = pretuned_kernel("silu_mul_fp8");
  return kernel;
}

Status silu_mul_fp8(void* stream, const TensorView& x, const TensorView& scale, const TensorView& out, CallInfo* info) {
  const TensorView halves = in_halves(x);
  const TensorView* tensors[] = {&halves, &scale, &out};
  return silu_mul_fp8_kernel().call(stream, tensors, 3, nullptr, 0, info);
}

}  // namespace kaon
