// The IR says what the text means: axes, types, broadcasts, carried variables, extents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/frontend/sources.h"

namespace kaon::compiler {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string f32_body(const std::string& body) {
  return ir_of("kernel k(x: f32[M, N], i: i32[M], w: f32[N], c: i64) -> (out: f32[M, N]) {\n  for m in tile(M) {\n" +
               body + "\n  out[m, :] = x[m, :] * w[:] + f32(i[m])[:, None] * f32(c);\n  }\n}\n");
}

TEST(Sema, SoftmaxHasTheExpectedIr) {
  EXPECT_EQ(ir_of(kSoftmax), R"(kernel softmax {
  stage logical
  dim M
  dim N
  tensor x: f16[M, N] generic T
  tensor out: f16[M, N] generic T, output
  axis m: tile begin 0, end M
  axis N: full extent N
  tile {axes = [m]} {
    %0:f16[m, N] = load x[m, N]
    %1:f32[m, N] = cast %0  # row
    %2:f32[m, 1] = reduce %1 {fn = "max", dims = [1], keepdim = 1}
    %3:f32[m, N] = broadcast %2
    %4:f32[m, N] = binary %1, %3 {fn = "sub"}
    %5:f32[m, N] = unary %4 {fn = "exp"}  # e
    %6:f32[m, 1] = reduce %5 {fn = "sum", dims = [1], keepdim = 1}
    %7:f32[m, N] = broadcast %6
    %8:f32[m, N] = binary %5, %7 {fn = "div"}
    %9:f16[m, N] = cast %8
    store out[m, N] %9
  }
}
)");
}

TEST(Sema, EqualExtentsShareAnAxisAndSlicesMoveIt) {
  const std::string text = ir_of(kRope);
  EXPECT_THAT(text, HasSubstr("axis H: full extent H\n"));
  EXPECT_THAT(text, Not(HasSubstr("H_2")));
  EXPECT_THAT(text, HasSubstr("load x[%3, t, H + %4]"));
  EXPECT_THAT(text, HasSubstr("tensor out: f16[B, S, 2 * H] generic T, output, alias x"));
}

TEST(Sema, AnExpressionNamesItsAxis) {
  EXPECT_THAT(ir_of("kernel k(x: f32[M, 2 * H], y: f32[H]) -> (out: f32[M]) {\n"
                    "  for m in tile(M) { out[m] = sum(x[m, :], dim=1) + sum(y[:]); }\n}\n"),
              HasSubstr("axis \"2*H\": full extent 2 * H"));
}

TEST(Sema, ADimensionTwiceInOneTensorHasTwoAxes) {
  EXPECT_THAT(
      ir_of(
          "kernel k(x: f32[M, N, N]) -> (out: f32[M, N, N]) {\n  for m in tile(M) { out[m, :, :] = x[m, :, :]; }\n}\n"),
      HasSubstr("load x[m, N, N_2]"));
}

TEST(Sema, VariablesAreCarriedRoundInnerLoops) {
  const std::string text = ir_of(kColumnSum);
  EXPECT_THAT(text, HasSubstr("axis m: tile begin 0, end rows, fixed_block 8"));
  EXPECT_THAT(text, HasSubstr("= tile %1, %2 {axes = [m]} (%3:f32[n], %5:i64[n])"));
  EXPECT_THAT(text, HasSubstr("yield "));
  EXPECT_THAT(text, HasSubstr("tensor hits: i64[N] output, zeroed"));
}

TEST(Sema, LiteralsTakeTheTypeAndShapeOfWhatTheyMeet) {
  EXPECT_THAT(f32_body("let a = 2 * x[m, :] + 0.5; let b = a * 1; out[m, :] = b;"),
              HasSubstr(":f32[m, N] = const {value = 2.0}"));
  EXPECT_THAT(f32_body("let a = i[m] * 3; out[m, 0] = f32(a);"), HasSubstr(":i32[m] = const {value = 3}"));
}

TEST(Sema, WhatTheHostKnowsStaysAnExpression) {
  const std::string text = f32_body("let half = (N + 1) / 2; let b = half * 2; out[m, :] = x[m, :] * f32(b);");
  EXPECT_THAT(text, HasSubstr("expr(2 * floor_div(N + 1, 2))"));
  EXPECT_THAT(text, Not(HasSubstr("floordiv")));
}

TEST(Sema, IntegerDivisionFloorsAndFloatDivisionDivides) {
  EXPECT_THAT(f32_body("out[m, 0] = f32(i[m] / 2);"), HasSubstr("fn = \"floordiv\""));
  EXPECT_THAT(f32_body("out[m, :] = x[m, :] / 2;"), HasSubstr("fn = \"div\""));
}

TEST(Sema, MeanDividesByTheExtentInF32) {
  const std::string text = ir_of(
      "kernel k(x: f16[M, N, K]) -> (out: f16[M]) {\n  for m in tile(M) { out[m] = mean(x[m, :, :], dim=(1, -1)); "
      "}\n}\n");
  EXPECT_THAT(text, HasSubstr("expr(K * N)"));
  EXPECT_THAT(text, HasSubstr("{fn = \"sum\", dims = [1, 2], keepdim = 0}"));
  EXPECT_THAT(text, HasSubstr(":f32[m] = binary"));
}

TEST(Sema, FoldingAUnitAxisNeedsNoReduction) {
  const std::string text = f32_body(
      "let a = x[m, :, None]; let b = sum(a, dim=2); let d = amax(a, dim=2, keepdim=true); out[m, :] = b + sum(d, "
      "dim=-1);");
  EXPECT_THAT(text, Not(HasSubstr("reduce")));
  EXPECT_THAT(text, HasSubstr("squeeze"));
}

TEST(Sema, RequireBecomesACondition) {
  const SourceFile file("t",
                        "kernel k(x: f32[M], y: f32[N]) -> (out: f32[M]) require M <= N, N % 2 == 0 {\n"
                        "  for m in tile(M) { out[m] = x[m] + y[m]; }\n}\n");
  Diagnostics diagnostics(file);
  const auto program = Program::create(file, &diagnostics);
  ASSERT_NE(program, nullptr) << diagnostics.render();
  const Signature signature = program->instantiate("k", {})->signature;
  ASSERT_EQ(signature.requires_.size(), 2u);
  EXPECT_EQ(signature.requires_[1].text, "N % 2 == 0");
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()));
  auto holds = [&](size_t which, int64_t m, int64_t n) {
    slots[static_cast<size_t>(signature.dim_slot(0))] = m;
    slots[static_cast<size_t>(signature.dim_slot(1))] = n;
    return signature.requires_[which].condition.evaluate(slots.data());
  };
  EXPECT_EQ(holds(0, 4, 4), 1);
  EXPECT_EQ(holds(0, 5, 4), 0);
  EXPECT_EQ(holds(1, 5, 4), 1);
  EXPECT_EQ(holds(1, 5, 7), 0);
}

TEST(Sema, BoundsFromMemoryAreValues) {
  EXPECT_THAT(ir_of("kernel k(o: i64[B + 1], x: f32[R, F]) -> (out: f32[B, F]) {\n  for b in tile(B, block=1) {\n"
                    "    let lo = o[b.begin];\n    let hi = o[b.begin + 1];\n    for f in tile(F) {\n      var acc = "
                    "zeros(f32, 1, f);\n"
                    "      for r in tile(lo, hi) { acc += sum(x[r, f], dim=0, keepdim=true); }\n      out[b, f] = "
                    "acc;\n    }\n  }\n}\n"),
              HasSubstr("axis r: tile begin %1, end %5"));
}

TEST(Sema, InliningThatDoublesIsStopped) {
  std::string text;
  for (int i = 0; i < 24; ++i) {
    const std::string inner = i == 0 ? "a" : "twice" + std::to_string(i - 1) + "(a)";
    text += "fn twice" + std::to_string(i) + "(a) { return " + inner + " + " + inner + "; }\n";
  }
  text += "kernel k(x: f32[M]) -> (out: f32[M]) {\n  for m in tile(M) { out[m] = twice23(x[m]); }\n}\n";
  EXPECT_THAT(ir_of(text), HasSubstr("more than 20000 values"));
}

}  // namespace
}  // namespace kaon::compiler
