#include "pretuned/pretuned.h"

#include "pretuned/bias_with_slice/bias_with_slice.h"
#include "pretuned/cross_entropy/cross_entropy.h"
#include "pretuned/dynamic_per_token_fp8_quant/dynamic_per_token_fp8_quant.h"
#include "pretuned/fused_add_rms_norm/fused_add_rms_norm.h"
#include "pretuned/jagged_dense_add/jagged_dense_add.h"
#include "pretuned/jagged_layer_norm/jagged_layer_norm.h"
#include "pretuned/jagged_mean/jagged_mean.h"
#include "pretuned/jagged_softmax/jagged_softmax.h"
#include "pretuned/jagged_sum/jagged_sum.h"
#include "pretuned/layer_norm/layer_norm.h"
#include "pretuned/layer_norm_residual/layer_norm_residual.h"
#include "pretuned/long_sum/long_sum.h"
#include "pretuned/rms_norm/rms_norm.h"
#include "pretuned/rope/rope.h"
#include "pretuned/rope_interleaved/rope_interleaved.h"
#include "pretuned/segmented_reduction/segmented_reduction.h"
#include "pretuned/silu_mul_fp8/silu_mul_fp8.h"
#include "pretuned/softmax/softmax.h"
#include "pretuned/vector_add/vector_add.h"

void kaon_register_pretuned(void) {
  kaon::bias_with_slice_kernel();
  kaon::cross_entropy_kernel();
  kaon::dynamic_per_token_fp8_quant_kernel();
  kaon::fused_add_rms_norm_kernel();
  kaon::jagged_dense_add_kernel();
  kaon::jagged_layer_norm_kernel();
  kaon::jagged_mean_kernel();
  kaon::jagged_softmax_kernel();
  kaon::jagged_sum_kernel();
  kaon::layer_norm_kernel();
  kaon::layer_norm_residual_kernel();
  kaon::long_sum_kernel();
  kaon::rms_norm_kernel();
  kaon::rope_kernel();
  kaon::rope_interleaved_kernel();
  kaon::segmented_reduction_kernel();
  kaon::silu_mul_fp8_kernel();
  kaon::softmax_kernel();
  kaon::vector_add_kernel();
}
