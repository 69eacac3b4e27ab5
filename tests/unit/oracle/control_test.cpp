// Loops, branches, scalars, axis facts and refused calls.
#include <cmath>

#include "tests/unit/oracle/call.h"

namespace kaon::compiler {
namespace {

constexpr const char* kLoopText = R"ir(kernel loops {
  stage logical
  dim M
  dim K
  tensor x: f32[M, K]
  tensor len: i64[M]
  tensor out: f32[M] output
  scalar scale: f32 = %0:f32
  axis m: tile begin 0, end M, fixed_block 1
  axis k: tile begin 0, end %3, block 4
  tile {axes = [m]} {
    %1:i64 = axis_info {axis = m, what = "begin"}
    %3:i64 = load len[%1]
    %4:f32[m] = const {value = 0.0}
    %5:f32[m] = tile %4 {axes = [k]} (%6:f32[m]) {
      %7:f32[m, k] = load x[m, k]
      %8:f32[m] = reduce %7 {fn = "sum", dims = [1], keepdim = 0}
      %9:f32[m] = binary %6, %8 {fn = "add"}
      yield %9
    }
    %10:f32[1] = expand_dims %0 {dim = 0}
    %11:f32[m] = broadcast %10
    %12:f32[m] = binary %5, %11 {fn = "mul"}
    store out[m] %12
  }
}
)ir";

TEST(OracleControl, loops_carry_values_over_ranges_that_are_data) {
  const Kernel kernel = parse_or_fail(kLoopText);
  OwnedTensor x(DType::kF32, {3, 10}), len(DType::kI64, {3}), out(DType::kF32, {3});
  for (int64_t i = 0; i < 30; ++i) x.set(i, static_cast<double>(i % 10 + 1));
  len.set(0, 0), len.set(1, 7), len.set(2, 10);
  const int64_t scale = static_cast<int64_t>(encode_float(DType::kF32, 0.5));
  const OracleResult result = run_oracle(kernel, views({&x, &len, &out}), {scale});
  EXPECT_EQ(result.outputs[2][0].value, 0);
  EXPECT_EQ(result.outputs[2][1].value, 14);
  EXPECT_EQ(result.outputs[2][2].value, 27.5);
  EXPECT_EQ(result.programs_total, 3);
}

// Rows of two lengths in one tile, whose missing lanes hold ones: products of those are no terms of the sum.
constexpr const char* kJaggedDotText = R"ir(kernel products {
  stage logical
  dim B
  dim M
  dim K
  dim N
  tensor x: f32[B, M, K]
  tensor y: f32[B, K, N]
  tensor len: i64[B]
  tensor out: f32[B, M, N] output
  axis b: tile begin 0, end B, block 2
  axis M: full extent M
  axis N: full extent N
  axis k: tile begin 0, end %1, lengths %0, block 4
  tile {axes = [b]} {
    %0:i64[b] = load len[b]
    %1:i64 = reduce %0 {fn = "max", dims = [0], keepdim = 0}
    %2:f32[b, M, N] = const {value = 0.5}
    %3:f32[b, M, N] = tile %2 {axes = [k]} (%4:f32[b, M, N]) {
      %5:f32[b, M, k] = load x[b, M, k]
      %6:f32[b, k, N] = load y[b, k, N]
      %7:f32[b, M, k] = const {value = 1.0}
      %8:f32[b, k, N] = const {value = 1.0}
      %9:f32[b, M, k] = binary %5, %7 {fn = "add"}
      %10:f32[b, k, N] = binary %6, %8 {fn = "add"}
      %11:f32[b, M, N] = dot %9, %10, %4
      yield %11
    }
    store out[b, M, N] %3
  }
}
)ir";

TEST(OracleControl, products_of_lanes_beyond_a_row_are_left_out) {
  const Kernel kernel = parse_or_fail(kJaggedDotText);
  OwnedTensor x(DType::kF32, {3, 2, 9}), y(DType::kF32, {3, 9, 2}), len(DType::kI64, {3}), out(DType::kF32, {3, 2, 2});
  len.set(0, 9), len.set(1, 2), len.set(2, -1);
  const OracleResult result = run_oracle(kernel, views({&x, &y, &len, &out}));
  ASSERT_EQ(result.outputs[3].size(), 12u);
  const double expected[] = {9.5, 2.5, 0.5};
  for (size_t i = 0; i < 12; ++i) EXPECT_EQ(result.outputs[3][i].value, expected[i / 4]) << i;
}

constexpr const char* kFactsText = R"ir(kernel facts {
  stage logical
  dim N
  tensor x: f32[N]
  tensor out: i64[N] output
  axis n: tile begin 2, end N, block 4
  tile {axes = [n]} {
    %1:i64 = axis_info {axis = n, what = "WHAT"}
    %2:i64[1] = expand_dims %1 {dim = 0}
    %3:i64[n] = broadcast %2
    store out[n] %3
  }
}
)ir";

TEST(OracleControl, axis_facts_are_those_of_the_current_tile) {
  struct Case {
    const char* what;
    int64_t first, last;
  };
  for (const Case& c : {Case{"begin", 2, 10}, {"end", 6, 13}, {"id", 0, 2}, {"block_size", 4, 4}, {"count", 3, 3}}) {
    const Kernel kernel = parse_or_fail(replaced(kFactsText, "WHAT", c.what));
    OwnedTensor x(DType::kF32, {13}), out(DType::kI64, {13});
    const OracleResult result = run_oracle(kernel, views({&x, &out}));
    ASSERT_EQ(result.outputs[1].size(), 11u);
    EXPECT_EQ(result.outputs[1].front().offset, 2);
    EXPECT_EQ(result.outputs[1].front().integer, c.first) << c.what;
    EXPECT_EQ(result.outputs[1].back().integer, c.last) << c.what;
  }
}

constexpr const char* kIfText = R"ir(kernel branches {
  stage logical
  dim N
  tensor x: f32[N]
  tensor out: f32[N] output
  axis n: tile begin 0, end N, fixed_block 1
  tile {axes = [n]} {
    %0:i64 = axis_info {axis = n, what = "begin"}
    %1:f32 = load x[%0]
    %2:f32 = const {value = 0.01}
    %3:f32 = binary %1, %1 {fn = "mul"}
    %4:bool = compare %3, %2 {fn = "gt"}
    %5:f32 = if %4 {
      %6:f32 = const {value = 3.0}
      yield %6
    } else {
      %7:f32 = const {value = 1.0}
      yield %7
    }
    store out[%0] %5
  }
}
)ir";

TEST(OracleControl, an_undecided_branch_covers_both_results) {
  const Kernel kernel = parse_or_fail(kIfText);
  OwnedTensor x(DType::kF32, {3}), out(DType::kF32, {3});
  x.set(0, 0.05), x.set(1, 0.1), x.set(2, 0.2);
  const OracleResult result = run_oracle(kernel, views({&x, &out}));
  EXPECT_EQ(result.outputs[1][0].value, 1);
  EXPECT_EQ(result.outputs[1][0].bound, 0);
  EXPECT_EQ(result.outputs[1][1].bound, 2);
  EXPECT_EQ(result.outputs[1][2].value, 3);
  EXPECT_EQ(result.outputs[1][2].bound, 0);
}

TEST(OracleControl, calls_that_do_not_fit_the_signature_are_refused_with_numbers) {
  const Kernel kernel = parse_or_fail(kLoopText);
  OwnedTensor x(DType::kF32, {3, 10}), len(DType::kI64, {3}), out(DType::kF32, {3}), short_out(DType::kF32, {2});
  OwnedTensor half(DType::kF16, {3, 10});
  auto message = [&](const std::vector<const OwnedTensor*>& tensors, const std::vector<int64_t>& scalars) {
    Result<OracleResult> result = interpret(kernel, views(tensors), scalars, {});
    EXPECT_FALSE(result);
    EXPECT_EQ(result.status().code(), Code::kInvalidArgument);
    return result.status().message();
  };
  EXPECT_EQ(message({&x, &len}, {0}), "loops: expected 3 tensors and 1 scalars, got 2 and 1");
  EXPECT_EQ(message({&x, &len, &out}, {}), "loops: expected 3 tensors and 1 scalars, got 3 and 0");
  EXPECT_EQ(message({&len, &len, &out}, {0}), "loops: tensor x has rank 1, expected 2");
  EXPECT_EQ(message({&half, &len, &out}, {0}), "loops: tensor x is f16, expected f32");
  EXPECT_EQ(message({&x, &len, &short_out}, {0}), "loops: axis 0 of out is M: expected 3, got 2");
}

TEST(OracleControl, later_stages_and_broken_kernels_are_refused) {
  Kernel kernel = parse_or_fail(kIfText);
  OwnedTensor x(DType::kF32, {1}), out(DType::kF32, {1});
  kernel.stage = Stage::kLaidOut;
  EXPECT_EQ(interpret(kernel, views({&x, &out}), {}, {}).status().message(),
            "branches: expected stage logical, got laid_out");
  kernel.stage = Stage::kLogical;
  kernel.body.ops[0]->regions[0].ops.pop_back();
  kernel.body.ops[0]->regions[0].ops[1]->operands[0] = 7;
  EXPECT_EQ(interpret(kernel, views({&x, &out}), {}, {}).status().code(), Code::kInternal);
}

TEST(OracleJudge, words_name_the_tensor_the_offset_and_both_values) {
  const Kernel kernel = parse_or_fail(kIfText);
  OwnedTensor x(DType::kF32, {2}), out(DType::kF32, {2});
  x.set(0, 1), x.set(1, 1);
  const std::vector<HostTensor> tensors = views({&x, &out});
  const OracleResult expected = run_oracle(kernel, tensors);
  out.set(0, 3), out.set(1, 4);
  const std::string text = judge(kernel, expected, tensors).to_string();
  EXPECT_EQ(text,
            "1 of 2 elements wrong, worst at inf of the allowed error\n  tensor 1 offset 1: expected 3 +- 0, got 4");
  out.set(1, std::nan(""));
  EXPECT_EQ(judge(kernel, expected, tensors).wrong, 1);
}

}  // namespace
}  // namespace kaon::compiler
