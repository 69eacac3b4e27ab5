// Typed functions of kernels over rows, on the CPU, against plain loops: arguments arrive where they belong.
#include <algorithm>
#include <string>

#include "pretuned/bias_with_slice/bias_with_slice.h"
#include "pretuned/cross_entropy/cross_entropy.h"
#include "pretuned/dynamic_per_token_fp8_quant/dynamic_per_token_fp8_quant.h"
#include "pretuned/fused_add_rms_norm/fused_add_rms_norm.h"
#include "pretuned/layer_norm/layer_norm.h"
#include "pretuned/layer_norm_residual/layer_norm_residual.h"
#include "pretuned/long_sum/long_sum.h"
#include "pretuned/rms_norm/rms_norm.h"
#include "pretuned/rope/rope.h"
#include "pretuned/rope_interleaved/rope_interleaved.h"
#include "pretuned/silu_mul_fp8/silu_mul_fp8.h"
#include "tests/unit/pretuned/numbers.h"

namespace kaon::testing_pretuned {
namespace {

constexpr int64_t kM = 3, kN = 37;
constexpr float kEps = 0.25f;

std::vector<double> rms_normed(const std::vector<float>& x, const std::vector<float>& weight) {
  std::vector<double> out;
  for (int64_t m = 0; m < kM; ++m) {
    double squares = 0;
    for (int64_t n = 0; n < kN; ++n) squares += std::pow(x[m * kN + n], 2);
    for (int64_t n = 0; n < kN; ++n) out.push_back(x[m * kN + n] / std::sqrt(squares / kN + kEps) * weight[n]);
  }
  return out;
}

std::vector<double> layer_normed(const std::vector<float>& x, const std::vector<float>& weight,
                                 const std::vector<float>& bias) {
  std::vector<double> out;
  for (int64_t m = 0; m < kM; ++m) {
    double mean = 0, squares = 0;
    for (int64_t n = 0; n < kN; ++n) mean += x[m * kN + n] / double{kN};
    for (int64_t n = 0; n < kN; ++n) squares += std::pow(x[m * kN + n] - mean, 2);
    for (int64_t n = 0; n < kN; ++n)
      out.push_back((x[m * kN + n] - mean) / std::sqrt(squares / kN + kEps) * weight[n] + bias[n]);
  }
  return out;
}

std::vector<float> added(const std::vector<float>& a, const std::vector<float>& b) {
  std::vector<float> sum;
  for (size_t i = 0; i < a.size(); ++i) sum.push_back(a[i] + b[i]);
  return sum;
}

std::vector<double> exactly(const std::vector<float>& values) { return {values.begin(), values.end()}; }

TEST_F(TypedFunctions, norms) {
  const auto x = some_numbers(kM * kN, 1), residual = some_numbers(kM * kN, 2);
  const auto weight = some_numbers(kN, 3), bias = some_numbers(kN, 4);
  auto out = unwritten(kM * kN), sum = unwritten(kM * kN);
  EXPECT_SERVED(rms_norm(nullptr, view(x, {kM, kN}), view(weight, {kN}), kEps, view(out, {kM, kN})));
  expect_near(out, rms_normed(x, weight));
  EXPECT_SERVED(
      layer_norm(nullptr, view(x, {kM, kN}), view(weight, {kN}), view(bias, {kN}), kEps, view(out, {kM, kN})));
  expect_near(out, layer_normed(x, weight, bias));
  EXPECT_SERVED(layer_norm_residual(nullptr, view(x, {kM, kN}), view(residual, {kM, kN}), view(weight, {kN}),
                                    view(bias, {kN}), kEps, view(out, {kM, kN}), view(sum, {kM, kN})));
  expect_near(out, layer_normed(added(x, residual), weight, bias));
  expect_near(sum, exactly(added(x, residual)));
}

TEST_F(TypedFunctions, fused_add_rms_norm_works_in_place) {
  auto x = some_numbers(kM * kN, 1), residual = some_numbers(kM * kN, 2);
  const auto weight = some_numbers(kN, 3), sum = added(x, residual);
  const TensorView x_view = view(x, {kM, kN}), residual_view = view(residual, {kM, kN});
  EXPECT_SERVED(fused_add_rms_norm(nullptr, x_view, residual_view, view(weight, {kN}), kEps, x_view, residual_view));
  expect_near(x, rms_normed(sum, weight));
  expect_near(residual, exactly(sum));
}

TEST_F(TypedFunctions, cross_entropy_ignores_smooths_and_refuses_labels) {
  const auto logits = some_numbers(4 * kN, 1);
  const std::vector<int64_t> labels = {5, 7, -1, 36};
  constexpr double kSmoothing = 0.125;
  std::vector<double> want;
  for (int64_t m = 0; m < 4; ++m) {
    double total = 0, all = 0;
    for (int64_t n = 0; n < kN; ++n) total += std::exp(logits[m * kN + n]), all += logits[m * kN + n];
    const int64_t label = labels[static_cast<size_t>(m)];
    const double at_label = label < 0 ? NAN : logits[m * kN + label];
    want.push_back(label == 7 ? 0 : std::log(total) - (1 - kSmoothing) * at_label - kSmoothing * all / kN);
  }
  auto loss = unwritten(4);
  EXPECT_SERVED(cross_entropy(nullptr, view(logits, {4, kN}), view(labels, {4}), 7, kSmoothing, view(loss, {4})));
  expect_near(loss, want);
  const std::vector<int32_t> narrow = {5, 7, -1, 36};
  loss = unwritten(4);
  EXPECT_SERVED(cross_entropy(nullptr, view(logits, {4, kN}), view(narrow, {4}), 7, kSmoothing, view(loss, {4})));
  expect_near(loss, want);
}

TEST_F(TypedFunctions, rope_turns_forward_and_back) {
  constexpr int64_t kS = 3, kQ = 2, kK = 1, kD = 8, kR = kD / 2;
  const auto q = some_numbers(kS * kQ * kD, 1), k = some_numbers(kS * kK * kD, 2);
  std::vector<float> cosines, sines;
  for (int64_t i = 0; i < kS * kR; ++i) cosines.push_back(std::cos(0.3f * i)), sines.push_back(std::sin(0.3f * i));
  const TensorView c = view(cosines, {kS, kR}), s = view(sines, {kS, kR});
  const TensorView q_view = view(q, {1, kS, kQ, kD}), k_view = view(k, {1, kS, kK, kD});
  for (const bool interleaved : {false, true}) {
    auto q_out = unwritten(kS * kQ * kD), k_out = unwritten(kS * kK * kD);
    const TensorView q_turned = view(q_out, {1, kS, kQ, kD}), k_turned = view(k_out, {1, kS, kK, kD});
    EXPECT_SERVED((interleaved ? rope_interleaved : rope)(nullptr, q_view, k_view, c, s, q_turned, k_turned, nullptr));
    std::vector<double> want(q.size());
    for (int64_t at = 0; at < kS * kQ; ++at) {
      for (int64_t i = 0; i < kR; ++i) {
        const int64_t first = at * kD + (interleaved ? 2 * i : i),
                      second = at * kD + (interleaved ? 2 * i + 1 : kR + i);
        const double cos = cosines[at / kQ * kR + i], sin = sines[at / kQ * kR + i];
        want[static_cast<size_t>(first)] = q[first] * cos - q[second] * sin;
        want[static_cast<size_t>(second)] = q[second] * cos + q[first] * sin;
      }
    }
    expect_near(q_out, want);
    EXPECT_SERVED((interleaved ? rope_interleaved_backward : rope_backward)(nullptr, q_turned, k_turned, c, s, q_turned,
                                                                            k_turned, nullptr));
    expect_near(q_out, exactly(q));
    expect_near(k_out, exactly(k));
  }
  auto q_out = unwritten(kS * kQ * 7), k_out = unwritten(kS * kK * 7);
  EXPECT_EQ(rope_interleaved(nullptr, view(q, {1, kS, kQ, 7}), view(k, {1, kS, kK, 7}), c, s,
                             view(q_out, {1, kS, kQ, 7}), view(k_out, {1, kS, kK, 7}))
                .code(),
            Code::kInvalidArgument);
}

TEST_F(TypedFunctions, long_sum) {
  const auto x = some_numbers(kM * kN, 1);
  std::vector<double> want(kM);
  for (size_t i = 0; i < x.size(); ++i) want[i / kN] += x[i];
  auto out = unwritten(kM);
  EXPECT_SERVED(long_sum(nullptr, view(x, {kM, kN}), view(out, {kM})));
  expect_near(out, want);
}

/// Eighths of the value, or the least step of f8e4m3, are the most that rounding moves it.
void expect_f8(const std::vector<uint8_t>& got, const std::vector<double>& want) {
  for (size_t i = 0; i < want.size(); ++i)
    EXPECT_NEAR(decode_f8(got[i]), want[i], std::fabs(want[i]) / 16 + 0.001) << i;
}

TEST_F(TypedFunctions, silu_mul_fp8_takes_both_halves_of_a_row) {
  const auto x = some_numbers(kM * 2 * kN, 1);
  const std::vector<float> scale = {0.5f};
  std::vector<double> want;
  for (int64_t m = 0; m < kM; ++m) {
    for (int64_t h = 0; h < kN; ++h) {
      const double gate = x[m * 2 * kN + h], up = x[m * 2 * kN + kN + h];
      want.push_back(gate / (1 + std::exp(-gate)) * up / 0.5);
    }
  }
  std::vector<uint8_t> out(kM * kN, 0xff);
  EXPECT_SERVED(silu_mul_fp8(nullptr, view(x, {kM, 2 * kN}), view(scale, {1}), view(out, {kM, kN})));
  expect_f8(out, want);
}

TEST_F(TypedFunctions, dynamic_per_token_fp8_quant) {
  const auto x = some_numbers(kM * kN, 1);
  std::vector<double> want, scales;
  for (int64_t m = 0; m < kM; ++m) {
    double most = 0;
    for (int64_t n = 0; n < kN; ++n) most = std::max(most, std::fabs(double{x[m * kN + n]}));
    scales.push_back(most / 448);
    for (int64_t n = 0; n < kN; ++n) want.push_back(x[m * kN + n] / scales.back());
  }
  std::vector<uint8_t> out(kM * kN, 0xff);
  auto scale = unwritten(kM);
  EXPECT_SERVED(
      dynamic_per_token_fp8_quant(nullptr, view(x, {kM, kN}), INFINITY, view(out, {kM, kN}), view(scale, {kM})));
  expect_near(scale, scales);
  expect_f8(out, want);
  EXPECT_SERVED(
      dynamic_per_token_fp8_quant(nullptr, view(x, {kM, kN}), 0.001f, view(out, {kM, kN}), view(scale, {kM})));
  expect_near(scale, {0.001, 0.001, 0.001});
  EXPECT_EQ(*std::max_element(out.begin(), out.end(), [](uint8_t a, uint8_t b) { return decode_f8(a) < decode_f8(b); }),
            0x7e);
}

TEST_F(TypedFunctions, bias_with_slice) {
  constexpr int64_t kB = 2, kRows = 5, kS = 3;
  const auto y = some_numbers(kB * kRows * kN, 1), bias = some_numbers(kRows, 2);
  auto full = unwritten(kB * kRows * kN), part = unwritten(kB * kS * kN);
  EXPECT_SERVED(bias_with_slice(nullptr, view(y, {kB, kRows, kN}), view(bias, {kRows}), view(full, {kB, kRows, kN}),
                                view(part, {kB, kS, kN})));
  std::vector<double> whole, first;
  for (int64_t i = 0; i < kB * kRows * kN; ++i) {
    whole.push_back(y[i] + bias[i / kN % kRows]);
    if (i / kN % kRows < kS) first.push_back(whole.back());
  }
  expect_near(full, whole);
  expect_near(part, first);
}

}  // namespace
}  // namespace kaon::testing_pretuned
