// Each op of the oracle on chosen values: types, wrapping, NaN, missing lanes, undecided branches, gathers.
#include <cmath>
#include <limits>

#include "tests/unit/oracle/call.h"

namespace kaon::compiler {
namespace {

constexpr double kInf = HUGE_VAL;
const double kNaN = std::nan("");

/// One-dimensional kernel over inputs a and b of type T with the given ops, which must end in %9.
std::string elementwise(DType in, DType out, const std::string& ops) {
  std::string text = R"ir(kernel ops {
  stage logical
  dim N
  tensor a: T[N]
  tensor b: T[N]
  tensor out: R[N] output
  axis n: tile begin 0, end N
  tile {axes = [n]} {
    %0:T[n] = load a[n]
    %1:T[n] = load b[n]
    OPS
    store out[n] %9
  }
}
)ir";
  text = replaced(text, "OPS", ops);
  text = replaced(text, "T[", std::string(dtype_name(in)) + "[");
  return replaced(text, "R[", std::string(dtype_name(out)) + "[");
}

std::vector<OracleElement> run(DType in, DType out, const std::string& ops, const std::vector<double>& a,
                               const std::vector<double>& b) {
  const Kernel kernel = parse_or_fail(elementwise(in, out, ops));
  const auto n = static_cast<int64_t>(a.size());
  OwnedTensor x(in, {n}), y(in, {n}), result(out, {n});
  for (int64_t i = 0; i < n; ++i) x.set(i, a[static_cast<size_t>(i)]), y.set(i, b[static_cast<size_t>(i)]);
  return run_oracle(kernel, views({&x, &y, &result})).outputs[2];
}

std::string binary(const std::string& fn) { return "%9:T[n] = binary %0, %1 {fn = \"" + fn + "\"}"; }
std::string unary(const std::string& fn) { return "%9:T[n] = unary %0 {fn = \"" + fn + "\"}"; }

void expect_values(const std::vector<OracleElement>& elements, const std::vector<double>& expected) {
  ASSERT_EQ(elements.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(elements[i].value)) << i;
    else
      EXPECT_EQ(elements[i].value, expected[i]) << i;
    EXPECT_EQ(elements[i].bound, 0) << i;
  }
}

TEST(OracleOps, integers_wrap_at_their_declared_type) {
  expect_values(run(DType::kI8, DType::kI8, binary("add"), {127, -128}, {1, -1}), {-128, 127});
  expect_values(run(DType::kU8, DType::kU8, binary("sub"), {0, 5}, {1, 3}), {255, 2});
  expect_values(run(DType::kI16, DType::kI16, binary("mul"), {300, -2}, {300, 3}), {90000 - 65536, -6});
  expect_values(run(DType::kI32, DType::kI32, binary("add"), {2147483647}, {1}), {-2147483648.0});
  expect_values(run(DType::kU32, DType::kU32, binary("mul"), {65536, 3}, {65536, 5}), {0, 15});
  expect_values(run(DType::kI32, DType::kI32, unary("neg"), {-2147483648.0, 7}, {0, 0}), {-2147483648.0, -7});
}

TEST(OracleOps, division_and_remainder_floor_and_survive_zero) {
  const std::vector<double> a = {7, -7, 7, -7, 5, -128}, b = {2, 2, -2, -2, 0, -1};
  expect_values(run(DType::kI8, DType::kI8, binary("floordiv"), a, b), {3, -4, -4, 3, 0, -128});
  expect_values(run(DType::kI8, DType::kI8, binary("mod"), a, b), {1, 1, -1, -1, 0, 0});
}

TEST(OracleOps, shifts_take_any_count) {
  expect_values(run(DType::kI32, DType::kI32, binary("shl"), {1, 1, 1, -1}, {4, 31, 32, 40}),
                {16, -2147483648.0, 0, 0});
  expect_values(run(DType::kI32, DType::kI32, binary("shr"), {-8, -8, 8, 8}, {1, 99, 1, 99}), {-4, -1, 4, 0});
  expect_values(run(DType::kU32, DType::kU32, binary("shr"), {4294967295.0}, {31}), {1});
}

TEST(OracleOps, i64_stays_exact_beyond_what_a_double_holds) {
  const Kernel kernel = parse_or_fail(elementwise(DType::kI64, DType::kI64, binary("add")));
  OwnedTensor a(DType::kI64, {1}), b(DType::kI64, {1}), out(DType::kI64, {1});
  const uint64_t big = (uint64_t{1} << 62) + 1;
  a.set_bits(0, big);
  b.set_bits(0, 2);
  const std::vector<HostTensor> tensors = views({&a, &b, &out});
  const OracleResult expected = run_oracle(kernel, tensors);
  EXPECT_EQ(expected.outputs[2][0].integer, static_cast<int64_t>(big + 2));
  out.set_bits(0, big + 2);
  EXPECT_TRUE(judge(kernel, expected, tensors).passed());
  out.set_bits(0, big + 3);
  EXPECT_FALSE(judge(kernel, expected, tensors).passed());
}

TEST(OracleOps, min_and_max_propagate_nan) {
  expect_values(run(DType::kF32, DType::kF32, binary("max"), {1, kNaN, 2, -kInf}, {3, 1, kNaN, 5}), {3, kNaN, kNaN, 5});
  expect_values(run(DType::kF32, DType::kF32, binary("min"), {1, kNaN, 2, kInf}, {3, 1, kNaN, 5}), {1, kNaN, kNaN, 5});
}

TEST(OracleOps, a_negative_zero_is_less_than_a_positive_one) {
  // The sign of a zero shows in its reciprocal.
  const auto reciprocal = [](const char* fn) {
    return replaced(binary(fn), "%9", "%2") + R"ir(
    %3:T[n] = const {value = 1.0}
    %9:T[n] = binary %3, %2 {fn = "div"})ir";
  };
  for (const DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    expect_values(run(dtype, dtype, reciprocal("min"), {0, -0.0, -0.0, 0}, {-0.0, 0, -0.0, 0}),
                  {-kInf, -kInf, -kInf, kInf});
    expect_values(run(dtype, dtype, reciprocal("max"), {0, -0.0, -0.0, 0}, {-0.0, 0, -0.0, 0}),
                  {kInf, kInf, -kInf, kInf});
  }
}

TEST(OracleOps, infinities_and_nan_follow_ieee) {
  expect_values(run(DType::kF32, DType::kF32, binary("sub"), {kInf, kInf, 1}, {kInf, 1, kInf}), {kNaN, kInf, -kInf});
  expect_values(run(DType::kF32, DType::kF32, binary("mul"), {kInf, kInf, 0}, {0, -2, 3}), {kNaN, -kInf, 0});
  expect_values(run(DType::kF32, DType::kF32, binary("div"), {1, 0, -1}, {0, 0, kInf}), {kInf, kNaN, 0});
  expect_values(run(DType::kF32, DType::kF32, unary("log"), {0, -1, kInf}, {0, 0, 0}), {-kInf, kNaN, kInf});
  expect_values(run(DType::kF32, DType::kF32, unary("exp"), {kInf, -kInf, kNaN}, {0, 0, 0}), {kInf, 0, kNaN});
}

TEST(OracleOps, floats_overflow_at_their_declared_type) {
  const auto f16 = run(DType::kF16, DType::kF16, binary("mul"), {60000, 60000, -60000}, {1, 2, 2});
  expect_values(f16, {60000, kInf, -kInf});
  const auto f32 = run(DType::kF32, DType::kF32, binary("add"), {3e38, 3e38}, {3e38, 0});
  EXPECT_EQ(f32[0].value, kInf);
  EXPECT_EQ(f32[0].bound, 0);
  EXPECT_TRUE(std::isfinite(f32[1].value));
}

TEST(OracleOps, exact_results_have_no_bound_and_inexact_ones_one_rounding) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    const double u = float_format(dtype).unit_roundoff;
    const auto sums = run(dtype, dtype, binary("add"), {1, 1}, {2, u / 2});
    EXPECT_EQ(sums[0].value, 3);
    EXPECT_EQ(sums[0].bound, 0);
    EXPECT_GT(sums[1].bound, 0.99 * u);
    EXPECT_LT(sums[1].bound, 1.01 * u);
  }
}

TEST(OracleOps, comparisons_of_exact_values_are_decided) {
  const std::string ops = R"(%2:bool[n] = compare %0, %1 {fn = "lt"}
    %9:T[n] = select %2, %0, %1)";
  expect_values(run(DType::kF32, DType::kF32, ops, {1, 5, 2, kNaN}, {2, 1, 2, 7}), {1, 1, 2, 7});
}

TEST(OracleOps, a_comparison_within_the_bound_accepts_both_sides) {
  // 0.1 * 0.1 is inexact in f32 and lies within its rounding of the product below.
  const std::string ops = R"(%2:T[n] = binary %0, %1 {fn = "mul"}
    %3:T[n] = const {value = 0.01}
    %4:bool[n] = compare %2, %3 {fn = "gt"}
    %5:T[n] = const {value = 100.0}
    %6:T[n] = const {value = -50.0}
    %9:T[n] = select %4, %5, %6)";
  const auto elements = run(DType::kF32, DType::kF32, ops, {0.1, 0.2}, {0.1, 0.2});
  EXPECT_EQ(elements[0].bound, 150);
  EXPECT_EQ(elements[1].value, 100);
  EXPECT_EQ(elements[1].bound, 0);
}

TEST(OracleOps, floor_near_a_step_accepts_both_steps) {
  const std::string ops = R"(%2:T[n] = binary %0, %1 {fn = "div"}
    %9:T[n] = unary %2 {fn = "floor"})";
  const auto elements = run(DType::kF32, DType::kF32, ops, {6, 7}, {3, 3});
  EXPECT_EQ(elements[0].value, 2);
  EXPECT_EQ(elements[0].bound, 1);
  EXPECT_EQ(elements[1].value, 2);
  EXPECT_EQ(elements[1].bound, 0);
}

TEST(OracleOps, casts_to_integers_truncate_saturate_and_take_nan_to_zero) {
  const std::string ops = "%9:R[n] = cast %0";
  const auto elements = run(DType::kF32, DType::kI8, ops, {1.9, -1.9, 300, -300, kNaN, kInf}, {0, 0, 0, 0, 0, 0});
  const std::vector<int64_t> expected = {1, -1, 127, -128, 0, 127};
  for (size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(elements[i].integer, expected[i]);
}

TEST(OracleOps, an_integer_stored_after_a_rounded_float_passes_as_either_neighbour) {
  const std::string ops = R"(%2:T[n] = binary %0, %1 {fn = "div"}
    %9:R[n] = cast %2)";
  const Kernel kernel = parse_or_fail(elementwise(DType::kF32, DType::kI32, ops));
  OwnedTensor a(DType::kF32, {2}), b(DType::kF32, {2}), out(DType::kI32, {2});
  a.set(0, 6), b.set(0, 3), a.set(1, 7), b.set(1, 3);
  const std::vector<HostTensor> tensors = views({&a, &b, &out});
  const OracleResult expected = run_oracle(kernel, tensors);
  auto passes = [&](double first, double second) {
    out.set(0, first), out.set(1, second);
    return judge(kernel, expected, tensors).passed();
  };
  EXPECT_TRUE(passes(2, 2));
  EXPECT_TRUE(passes(1, 2));
  EXPECT_FALSE(passes(3, 2));
  EXPECT_FALSE(passes(2, 1));
}

TEST(OracleOps, a_store_is_judged_before_its_last_cast) {
  const std::string ops = R"(%2:f32[n] = cast %0
    %3:f32[n] = cast %1
    %4:f32[n] = binary %2, %3 {fn = "div"}
    %9:R[n] = cast %4)";
  const auto elements = run(DType::kF16, DType::kF16, ops, {1}, {3});
  EXPECT_NEAR(elements[0].value, 1.0 / 3, 1e-16);
  EXPECT_LT(elements[0].bound, 1e-6);
}

TEST(OracleOps, reductions_skip_missing_lanes_and_start_from_identities) {
  const std::string text = R"ir(kernel rows {
  stage logical
  dim M
  dim N
  tensor a: T[M, N]
  tensor out: T[M] output
  axis m: tile begin 0, end M, block 4
  axis N: full extent N
  tile {axes = [m]} {
    %0:T[m, N] = load a[m, N]
    %1:T[m] = reduce %0 {fn = "FN", dims = [1], keepdim = 0}
    store out[m] %1
  }
}
)ir";
  struct Case {
    DType dtype;
    const char* fn;
    double empty;
  };
  const Case cases[] = {{DType::kF32, "sum", 0},
                        {DType::kF32, "prod", 1},
                        {DType::kF32, "max", -kInf},
                        {DType::kF32, "min", kInf},
                        {DType::kI32, "max", -2147483648.0},
                        {DType::kU8, "min", 255},
                        {DType::kI8, "prod", 1},
                        {DType::kF16, "max", -kInf},
                        {DType::kI64, "sum", 0}};
  for (const Case& c : cases) {
    const Kernel kernel =
        parse_or_fail(replaced(replaced(text, "T[", std::string(dtype_name(c.dtype)) + "["), "FN", c.fn));
    for (int64_t n : {0, 1, 127}) {
      OwnedTensor a(c.dtype, {5, n}), out(c.dtype, {5});
      for (int64_t i = 0; i < a.count(); ++i) a.set(i, 1);
      const OracleResult result = run_oracle(kernel, views({&a, &out}));
      ASSERT_EQ(result.outputs[1].size(), 5u);
      const bool is_sum = std::string(c.fn) == "sum";
      for (const OracleElement& element : result.outputs[1]) {
        EXPECT_EQ(element.value, n == 0 ? c.empty : is_sum ? static_cast<double>(n) : 1) << c.fn << " n " << n;
      }
      EXPECT_EQ(result.programs_total, 2);
    }
  }
}

TEST(OracleOps, products_and_integer_sums_are_typed) {
  const std::string fold = R"(%2:T[1] = expand_dims %3 {dim = 0}
    %9:T[n] = broadcast %2)";
  const auto sums =
      run(DType::kI8, DType::kI8, "%3:i8 = reduce %0 {fn = \"sum\", dims = [0], keepdim = 0}\n    " + fold,
          {100, 100, 1}, {0, 0, 0});
  EXPECT_EQ(sums[0].integer, 201 - 256);
}

TEST(OracleOps, sums_of_f64_whose_parts_may_overflow_are_open) {
  const std::string sum = R"(%3:f64 = reduce %0 {fn = "sum", dims = [0], keepdim = 0}
    %2:f64[1] = expand_dims %3 {dim = 0}
    %9:f64[n] = broadcast %2)";
  const auto bound = [&](const std::vector<double>& terms) {
    return run(DType::kF64, DType::kF64, sum, terms, std::vector<double>(terms.size(), 0))[0].bound;
  };
  EXPECT_EQ(bound({1.7e308, 1, -1.7e308}), kInf);
  EXPECT_EQ(bound({1.7e308, 1.7e308, -1.7e308}), kInf);
  EXPECT_EQ(bound({1e308, kInf, -5e307}), 0);
  EXPECT_LT(bound({1e300, 1, -1e300}), 1e290);
}

TEST(OracleOps, products_that_may_be_fused_into_a_sum_need_not_overflow) {
  const std::string product = "%2:f32[n] = binary %0, %1 {fn = \"mul\"}\n    ";
  const std::string negated = "%3:f32[n] = unary %2 {fn = \"neg\"}\n    ";
  const auto bound = [&](const std::string& ops) {
    return run(DType::kF32, DType::kF32, ops, {1e30}, {1e30})[0].bound;
  };
  EXPECT_EQ(bound(product + "%9:f32[n] = binary %2, %0 {fn = \"sub\"}"), kInf);
  EXPECT_EQ(bound(product + negated + "%9:f32[n] = binary %3, %0 {fn = \"add\"}"), kInf);
  EXPECT_EQ(bound(product + "%9:f32[n] = unary %2 {fn = \"neg\"}"), 0);
}

TEST(OracleOps, gathers_read_by_index_and_leave_lanes_outside_undefined) {
  const Kernel kernel = parse_or_fail(R"ir(kernel gather {
  stage logical
  dim N
  dim V
  tensor table: f32[V]
  tensor index: i32[N]
  tensor out: f32[N] output
  axis n: tile begin 0, end N
  tile {axes = [n]} {
    %0:i32[n] = load index[n]
    %1:f32[n] = load table[gather %0]
    store out[n] %1
  }
}
)ir");
  OwnedTensor table(DType::kF32, {4}), index(DType::kI32, {3}), out(DType::kF32, {3});
  for (int64_t i = 0; i < 4; ++i) table.set(i, 10.0 * static_cast<double>(i));
  index.set(0, 2), index.set(1, 0), index.set(2, 9);
  const std::vector<HostTensor> tensors = views({&table, &index, &out});
  const OracleResult result = run_oracle(kernel, tensors);
  EXPECT_EQ(result.outputs[2][0].value, 20);
  EXPECT_EQ(result.outputs[2][1].value, 0);
  EXPECT_EQ(result.outputs[2][2].bound, kInf);
  out.set(0, 20), out.set(2, 12345);
  const Judgement judgement = judge(kernel, result, tensors);
  EXPECT_TRUE(judgement.passed());
  EXPECT_EQ(judgement.unconstrained, 1);
}

TEST(OracleOps, stores_skip_lanes_outside_the_destination_and_the_last_one_stands) {
  const Kernel kernel = parse_or_fail(R"ir(kernel part {
  stage logical
  dim N
  dim S
  tensor x: f32[N]
  tensor out: f32[S] output
  axis n: tile begin 0, end N, block 4
  tile {axes = [n]} {
    %0:f32[n] = load x[n]
    %1:f32[n] = unary %0 {fn = "neg"}
    store out[n] %0
    store out[n] %1
  }
}
)ir");
  OwnedTensor x(DType::kF32, {10}), out(DType::kF32, {6});
  for (int64_t i = 0; i < 10; ++i) x.set(i, static_cast<double>(i + 1));
  const OracleResult result = run_oracle(kernel, views({&x, &out}));
  ASSERT_EQ(result.outputs[1].size(), 6u);
  for (size_t i = 0; i < 6; ++i) EXPECT_EQ(result.outputs[1][i].value, -static_cast<double>(i + 1));
}

TEST(OracleOps, strides_and_negative_strides_are_followed) {
  const Kernel kernel = parse_or_fail(elementwise(DType::kF32, DType::kF32, unary("neg")));
  float a[8] = {0, 1, 2, 3, 4, 5, 6, 7}, out[4] = {};
  HostTensor x{DType::kF32, a + 6, {4}, {-2}}, y{DType::kF32, a, {4}, {0}}, z{DType::kF32, out, {4}, {1}};
  const OracleResult result = run_oracle(kernel, {x, y, z});
  for (size_t i = 0; i < 4; ++i) EXPECT_EQ(result.outputs[2][i].value, -(6.0 - 2.0 * static_cast<double>(i)));
}

}  // namespace
}  // namespace kaon::compiler
