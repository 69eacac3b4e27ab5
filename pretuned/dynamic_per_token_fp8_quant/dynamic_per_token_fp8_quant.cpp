#include "pretuned/dynamic_per_token_fp8_quant/dynamic_per_token_fp8_quant.h"

#include "pretuned/tables.h"

namespace kaon {

const Kernel& dynamic_per_token_fp8_quant_kernel() {
  static const Kernel kernel = pretuned_kernel("dynamic_per_token_fp8_quant");
  return kernel;
}

Status dynamic_per_token_fp8_quant(void* stream, const TensorView& x, float scale_limit, const TensorView& out,
                                   const TensorView& scale, CallInfo* info) {
  const TensorView* tensors[] = {&x, &out, &scale};
  const ScalarValue scalars[] = {scale_limit};
  return dynamic_per_token_fp8_quant_kernel().call(stream, tensors, 3, scalars, 1, info);
}

}  // namespace kaon
