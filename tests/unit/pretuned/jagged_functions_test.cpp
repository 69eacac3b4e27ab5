// Typed functions of kernels over items of different lengths, on the CPU, against plain loops.
#include "pretuned/jagged_dense_add/jagged_dense_add.h"
#include "pretuned/jagged_layer_norm/jagged_layer_norm.h"
#include "pretuned/jagged_mean/jagged_mean.h"
#include "pretuned/jagged_softmax/jagged_softmax.h"
#include "pretuned/jagged_sum/jagged_sum.h"
#include "pretuned/segmented_reduction/segmented_reduction.h"
#include "tests/unit/pretuned/numbers.h"

namespace kaon::testing_pretuned {
namespace {

constexpr int64_t kItems = 4, kRows = 12, kF = 5;
const std::vector<int64_t> kOffsets = {0, 5, 5, 11, 12};  // one item has no row

class JaggedFunctions : public TypedFunctions {
 protected:
  const std::vector<float> x_ = some_numbers(kRows * kF, 1);
  const TensorView x_view_ = view(x_, {kRows, kF});
  const TensorView offsets_ = view(kOffsets, {kItems + 1});

  /// The sum over an item's rows of what `value` makes of an element.
  template <typename Value>
  double over_rows(int64_t item, int64_t f, const Value& value) const {
    double total = 0;
    for (int64_t r = kOffsets[item]; r < kOffsets[item + 1]; ++r) total += value(double{x_[r * kF + f]});
    return total;
  }
};

TEST_F(JaggedFunctions, sums_and_means) {
  const std::vector<int32_t> features = {5, 3, 0, 2};
  std::vector<double> sums, means;
  for (int64_t b = 0; b < kItems; ++b) {
    for (int64_t f = 0; f < kF; ++f) {
      sums.push_back(over_rows(b, f, [](double v) { return v; }));
      const int64_t rows = kOffsets[b + 1] - kOffsets[b];
      means.push_back(f < features[b] && rows > 0 ? sums.back() / static_cast<double>(rows) : 0);
    }
  }
  auto out = unwritten(kItems * kF);
  EXPECT_SERVED(jagged_sum(nullptr, x_view_, offsets_, view(out, {kItems, kF})));
  expect_near(out, sums);
  EXPECT_SERVED(jagged_mean(nullptr, x_view_, offsets_, view(features, {kItems}), view(out, {kItems, kF})));
  expect_near(out, means);
}

TEST_F(JaggedFunctions, softmax_and_layer_norm) {
  std::vector<double> shares, normed;
  for (int64_t b = 0; b < kItems; ++b) {
    const double count = static_cast<double>((kOffsets[b + 1] - kOffsets[b]) * kF);
    double mean = 0, squares = 0;
    for (int64_t f = 0; f < kF; ++f) mean += over_rows(b, f, [&](double v) { return v / count; });
    for (int64_t f = 0; f < kF; ++f) squares += over_rows(b, f, [&](double v) { return (v - mean) * (v - mean); });
    for (int64_t r = kOffsets[b]; r < kOffsets[b + 1]; ++r) {
      for (int64_t f = 0; f < kF; ++f) {
        shares.push_back(std::exp(x_[r * kF + f]) / over_rows(b, f, [](double v) { return std::exp(v); }));
        normed.push_back((x_[r * kF + f] - mean) / std::sqrt(squares / count + 0.25));
      }
    }
  }
  auto out = unwritten(kRows * kF);
  EXPECT_SERVED(jagged_softmax(nullptr, x_view_, offsets_, view(out, {kRows, kF})));
  expect_near(out, shares);
  EXPECT_SERVED(jagged_layer_norm(nullptr, x_view_, offsets_, 0.25f, view(out, {kRows, kF})));
  expect_near(out, normed);
}

TEST_F(JaggedFunctions, dense_add) {
  constexpr int64_t kN = 4;
  const auto packed = some_numbers(kRows, 2), dense = some_numbers(kItems * kN, 3);
  std::vector<double> want;
  for (int64_t i = 0; i < kItems * kN; ++i) {
    const int64_t at = kOffsets[i / kN] + i % kN;
    want.push_back(dense[i] + (at < kOffsets[i / kN + 1] ? packed[at] : 0));
  }
  auto out = unwritten(kItems * kN);
  EXPECT_SERVED(
      jagged_dense_add(nullptr, view(packed, {kRows}), offsets_, view(dense, {kItems, kN}), view(out, {kItems, kN})));
  expect_near(out, want);
}

TEST_F(JaggedFunctions, segments_are_summed_averaged_and_searched_for_their_greatest) {
  std::vector<int64_t> ids;
  for (int64_t b = 0; b < kItems; ++b) ids.insert(ids.end(), static_cast<size_t>(kOffsets[b + 1] - kOffsets[b]), b);
  const std::vector<int32_t> narrow(ids.begin(), ids.end());
  std::vector<double> sums, means, tops;
  for (int64_t b = 0; b < kItems; ++b) {
    for (int64_t f = 0; f < kF; ++f) {
      double top = -INFINITY;
      sums.push_back(over_rows(b, f, [&](double v) { return top = std::fmax(top, v), v; }));
      means.push_back(sums.back() / static_cast<double>(kOffsets[b + 1] - kOffsets[b]));
      tops.push_back(top);
    }
  }
  auto out = unwritten(kItems * kF);
  const TensorView out_view = view(out, {kItems, kF});
  EXPECT_SERVED(segmented_reduction(nullptr, view(ids, {kRows}), x_view_, Reduction::kSum, out_view));
  expect_near(out, sums);
  EXPECT_SERVED(segmented_reduction(nullptr, view(narrow, {kRows}), x_view_, Reduction::kMean, out_view));
  expect_near(out, means);
  EXPECT_SERVED(segmented_reduction(nullptr, view(ids, {kRows}), x_view_, Reduction::kMax, out_view));
  expect_near(out, tops);
}

}  // namespace
}  // namespace kaon::testing_pretuned
