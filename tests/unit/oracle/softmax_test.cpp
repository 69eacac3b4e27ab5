// Softmax and sums: exact values against long double, bounds against f32 evaluation in random order, planted errors.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "tests/unit/ir/kernels.h"
#include "tests/unit/oracle/call.h"

namespace kaon::compiler {
namespace {

Kernel softmax_of(DType dtype) { return parse_or_fail(replaced(kSoftmaxText, "f16", dtype_name(dtype))); }

constexpr const char* kSumText = R"ir(kernel row_sum {
  stage logical
  dim M
  dim N
  tensor x: f32[M, N]
  tensor out: f32[M] output
  axis m: tile begin 0, end M
  axis N: full extent N
  tile {axes = [m]} {
    %0:f32[m, N] = load x[m, N]
    %1:f32[m] = reduce %0 {fn = "sum", dims = [1], keepdim = 0}
    store out[m] %1
  }
}
)ir";

/// Softmax in f32 with every sum in an order of its own.
void softmax_f32(const OwnedTensor& x, int64_t n, std::mt19937_64* random, OwnedTensor* out) {
  std::vector<float> row(static_cast<size_t>(n)), terms;
  for (int64_t m = 0; m < x.count() / std::max<int64_t>(n, 1); ++m) {
    float max = -HUGE_VALF;
    for (int64_t i = 0; i < n; ++i) max = std::max(max, static_cast<float>(x.get(m * n + i)));
    for (int64_t i = 0; i < n; ++i) row[static_cast<size_t>(i)] = std::exp(static_cast<float>(x.get(m * n + i)) - max);
    terms = row;
    while (terms.size() > 1) {
      const size_t i = (*random)() % terms.size();
      std::swap(terms[i], terms.back());
      const float last = terms.back();
      terms.pop_back();
      terms[(*random)() % terms.size()] += last;
    }
    for (int64_t i = 0; i < n; ++i) out->set(m * n + i, row[static_cast<size_t>(i)] / terms[0]);
  }
}

TEST(OracleSoftmax, value_is_that_of_long_double_arithmetic) {
  for (int64_t n : {1, 2, 127, 1000}) {
    const Kernel kernel = softmax_of(DType::kF32);
    OwnedTensor x(DType::kF32, {3, n}), out(DType::kF32, {3, n});
    x.fill(5, 3);
    const OracleResult result = run_oracle(kernel, views({&x, &out}));
    ASSERT_EQ(result.outputs[1].size(), static_cast<size_t>(3 * n));
    for (int64_t m = 0; m < 3; ++m) {
      long double sum = 0;
      for (int64_t i = 0; i < n; ++i) sum += std::exp(static_cast<long double>(x.get(m * n + i)));
      for (int64_t i = 0; i < n; ++i) {
        const OracleElement& element = result.outputs[1][static_cast<size_t>(m * n + i)];
        const long double expected = std::exp(static_cast<long double>(x.get(m * n + i))) / sum;
        EXPECT_EQ(element.offset, m * n + i);
        EXPECT_NEAR(element.value, static_cast<double>(expected), 1e-14);
        EXPECT_GT(element.bound, 0);
        EXPECT_LT(element.bound, 1e-4);
      }
    }
  }
}

TEST(OracleSoftmax, f32_evaluation_in_any_order_passes_for_every_dtype) {
  std::mt19937_64 random(11);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2}) {
    const Kernel kernel = softmax_of(dtype);
    for (int64_t n : {1, 7, 127, 1024}) {
      OwnedTensor x(dtype, {4, n}), out(dtype, {4, n});
      x.fill(static_cast<uint64_t>(n), 2);
      softmax_f32(x, n, &random, &out);
      const std::vector<HostTensor> tensors = views({&x, &out});
      const Judgement judgement = judge(kernel, run_oracle(kernel, tensors), tensors);
      EXPECT_TRUE(judgement.passed()) << dtype_name(dtype) << " n " << n << ": " << judgement.to_string();
      EXPECT_EQ(judgement.compared, 4 * n);
      EXPECT_EQ(judgement.unconstrained, 0);
    }
  }
}

TEST(OracleSoftmax, an_element_three_bounds_off_is_wrong) {
  std::mt19937_64 random(13);
  for (DType dtype : {DType::kF32, DType::kF16, DType::kBF16}) {
    const Kernel kernel = softmax_of(dtype);
    OwnedTensor x(dtype, {4, 127}), out(dtype, {4, 127});
    x.fill(3);
    softmax_f32(x, 127, &random, &out);
    const std::vector<HostTensor> tensors = views({&x, &out});
    const OracleResult expected = run_oracle(kernel, tensors);
    const OracleElement& element = expected.outputs[1][200];
    const double allowed = element.bound + element.value * float_format(dtype).unit_roundoff;
    out.set(200, element.value + 3 * allowed);
    const Judgement judgement = judge(kernel, expected, tensors);
    EXPECT_EQ(judgement.wrong, 1) << dtype_name(dtype);
    ASSERT_EQ(judgement.examples.size(), 1u);
    EXPECT_EQ(judgement.examples[0].offset, 200);
    EXPECT_GT(judgement.worst_ratio, 1.3);
  }
}

TEST(OracleSum, bound_follows_the_magnitudes_under_cancellation) {
  const Kernel kernel = parse_or_fail(kSumText);
  const int64_t n = 4096;
  OwnedTensor x(DType::kF32, {1, n}), out(DType::kF32, {1});
  x.fill(17, 1000);
  for (int64_t i = 0; i < n / 2; ++i) x.set(n - 1 - i, -x.get(i));
  x.set(0, x.get(0) + 1);
  const std::vector<HostTensor> tensors = views({&x, &out});
  const OracleResult expected = run_oracle(kernel, tensors);
  const OracleElement& sum = expected.outputs[1][0];
  EXPECT_NEAR(sum.value, 1, 1e-3);
  std::mt19937_64 random(19);
  double worst = 0;
  for (int trial = 0; trial < 50; ++trial) {
    std::vector<float> terms;
    for (int64_t i = 0; i < n; ++i) terms.push_back(static_cast<float>(x.get(i)));
    std::shuffle(terms.begin(), terms.end(), random);
    float total = 0;
    for (float term : terms) total += term;
    worst = std::max(worst, std::fabs(total - sum.value));
    out.set(0, total);
    EXPECT_TRUE(judge(kernel, expected, tensors).passed());
  }
  // A relative tolerance of 1e-3 would reject right sums here; the bound is neither vacuous nor too tight.
  EXPECT_GT(worst, 1e-3);
  EXPECT_LT(sum.bound, 1.0e3);
  out.set(0, sum.value + 3 * sum.bound);
  EXPECT_FALSE(judge(kernel, expected, tensors).passed());
}

TEST(OracleSoftmax, missing_lanes_and_empty_tensors_write_nothing) {
  const Kernel kernel = softmax_of(DType::kF32);
  for (auto [m, n] : {std::pair<int64_t, int64_t>{0, 5}, {5, 0}, {0, 0}, {1, 1}, {3, 127}}) {
    OwnedTensor x(DType::kF32, {m, n}), out(DType::kF32, {m, n});
    x.fill(1);
    const OracleResult result = run_oracle(kernel, views({&x, &out}));
    EXPECT_EQ(result.outputs[1].size(), static_cast<size_t>(m * n));
    EXPECT_TRUE(result.outputs[0].empty());
  }
}

TEST(OracleSoftmax, nan_and_infinity_spread_as_in_exact_arithmetic) {
  const Kernel kernel = softmax_of(DType::kF32);
  OwnedTensor x(DType::kF32, {3, 4}), out(DType::kF32, {3, 4});
  x.fill(1);
  x.set(1, std::nan(""));
  x.set(4, -HUGE_VAL);
  x.set(8, HUGE_VAL);
  const OracleResult result = run_oracle(kernel, views({&x, &out}));
  const std::vector<OracleElement>& elements = result.outputs[1];
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_TRUE(std::isnan(elements[i].value));
    EXPECT_EQ(elements[i].bound, 0);
    EXPECT_TRUE(std::isnan(elements[8 + i].value));
  }
  EXPECT_EQ(elements[4].value, 0);
  EXPECT_GT(elements[5].value, 0);
}

TEST(OracleSoftmax, a_sample_has_the_first_and_the_last_program_and_agrees_with_the_whole) {
  Kernel kernel = softmax_of(DType::kF32);
  kernel.axis(0).block = 3;
  OwnedTensor x(DType::kF32, {100, 9}), out(DType::kF32, {100, 9});
  x.fill(23);
  const std::vector<HostTensor> tensors = views({&x, &out});
  const OracleResult whole = run_oracle(kernel, tensors);
  OracleOptions options;
  options.max_programs = 5;
  const OracleResult sample = run_oracle(kernel, tensors, {}, options);
  EXPECT_EQ(whole.programs_total, 34);
  EXPECT_EQ(whole.programs_run, 34);
  EXPECT_EQ(sample.programs_run, 5);
  EXPECT_EQ(sample.outputs[1].front().offset, 0);
  EXPECT_EQ(sample.outputs[1].back().offset, 899);
  EXPECT_EQ(sample.outputs[1].size(), 4u * 27 + 9);
  for (const OracleElement& element : sample.outputs[1]) {
    const OracleElement& same = whole.outputs[1][static_cast<size_t>(element.offset)];
    EXPECT_EQ(element.value, same.value);
    EXPECT_EQ(element.bound, same.bound);
  }
}

TEST(OracleSoftmax, rows_of_131072_are_interpreted_quickly) {
  const Kernel kernel = softmax_of(DType::kF16);
  const int64_t m = 16, n = 131072;
  OwnedTensor x(DType::kF16, {m, n}), out(DType::kF16, {m, n});
  x.fill(29);
  const auto start = std::chrono::steady_clock::now();
  const OracleResult result = run_oracle(kernel, views({&x, &out}));
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  EXPECT_EQ(result.programs_run, 16);
  RecordProperty("milliseconds", static_cast<int>(seconds * 1e3));
  EXPECT_LT(seconds, 10);
}

}  // namespace
}  // namespace kaon::compiler
