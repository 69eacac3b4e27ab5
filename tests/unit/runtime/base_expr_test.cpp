// Expressions: rounding, folding, printing, and what validate() refuses.
#include "runtime/base/expr.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

namespace kaon {
namespace {

constexpr int64_t kMinInt = std::numeric_limits<int64_t>::min();

int64_t run(ExprOp op, int64_t a, int64_t b) {
  int64_t slots[2] = {a, b};
  return Expr::binary(op, Expr::slot(0), Expr::slot(1)).evaluate(slots);
}

TEST(Expr, DivisionsRoundTheirWayForAllSigns) {
  for (int64_t a = -20; a <= 20; ++a) {
    for (int64_t b = -7; b <= 7; ++b) {
      if (b == 0) continue;
      double exact = static_cast<double>(a) / static_cast<double>(b);
      int64_t down = static_cast<int64_t>(__builtin_floor(exact));
      EXPECT_EQ(run(ExprOp::kFloorDiv, a, b), down) << a << "/" << b;
      EXPECT_EQ(run(ExprOp::kCeilDiv, a, b), static_cast<int64_t>(__builtin_ceil(exact))) << a << "/" << b;
      EXPECT_EQ(run(ExprOp::kMod, a, b), a - down * b) << a << "%" << b;
    }
  }
}

TEST(Expr, DivisionByZeroGivesZeroAndOverflowWraps) {
  EXPECT_EQ(run(ExprOp::kFloorDiv, 5, 0), 0);
  EXPECT_EQ(run(ExprOp::kCeilDiv, 5, 0), 0);
  EXPECT_EQ(run(ExprOp::kMod, 5, 0), 0);
  EXPECT_EQ(run(ExprOp::kFloorDiv, kMinInt, -1), kMinInt);
  EXPECT_EQ(run(ExprOp::kCeilDiv, kMinInt, -1), kMinInt);
  EXPECT_EQ(run(ExprOp::kMod, kMinInt, -1), 0);
  EXPECT_EQ(run(ExprOp::kAdd, std::numeric_limits<int64_t>::max(), 1), kMinInt);
}

TEST(Expr, FoldsConstantsAndNeutralOperands) {
  int64_t value = 0;
  EXPECT_TRUE((ceil_div(Expr(7), Expr(2)) * Expr(3)).is_constant(&value));
  EXPECT_EQ(value, 12);
  Expr m = Expr::slot(0);
  EXPECT_TRUE(m + 0 == m);
  EXPECT_TRUE(Expr(0) + m == m);
  EXPECT_TRUE(Expr(1) * m == m);
  EXPECT_TRUE(ceil_div(m, 1) == m);
  EXPECT_TRUE(min(m, m) == m);
  EXPECT_FALSE(m - 1 == m);
}

TEST(Expr, PrintsInfixWithParenthesesOnlyWhereNeeded) {
  Expr m = Expr::slot(0), b = Expr::slot(1);
  std::vector<std::string> names = {"M", "B"};
  EXPECT_EQ((ceil_div(m, 4) * b).to_string(names), "ceil_div(M, 4) * B");
  EXPECT_EQ(((m + 1) * b).to_string(names), "(M + 1) * B");
  EXPECT_EQ((m - (b - 1)).to_string(names), "M - (B - 1)");
  EXPECT_EQ((m * (b * 2)).to_string(names), "M * (B * 2)");
  EXPECT_EQ((m + b * 2).to_string(names), "M + B * 2");
  EXPECT_EQ(mod(m, 8).to_string(names), "mod(M, 8)");
}

TEST(Expr, ValidateRefusesWhatEvaluateCannotRun) {
  auto message = [](std::vector<ExprStep> steps) {
    Status status = validate(Expr::from_steps(std::move(steps)).view(), 2);
    EXPECT_TRUE(status.is_ok() || status.code() == Code::kCorrupt);
    return status.message();
  };
  EXPECT_EQ(message({{ExprOp::kSlot, 1}}), "");
  EXPECT_EQ(message({{ExprOp::kSlot, 2}}), "expression step 0: reads slot 2, expected one below 2");
  EXPECT_EQ(message({{ExprOp::kSlot, -1}}), "expression step 0: reads slot -1, expected one below 2");
  EXPECT_EQ(message({{ExprOp::kAdd, 0}}), "expression step 0: pops 2 values, has 0");
  EXPECT_EQ(message({}), "expression leaves 0 values, expected 1");
  EXPECT_EQ(message({{ExprOp::kConst, 1}, {ExprOp::kConst, 1}}), "expression leaves 2 values, expected 1");
  EXPECT_EQ(message({{static_cast<ExprOp>(77), 0}}), "expression step 0: unknown operation 77");
  std::vector<ExprStep> deep(kMaxExprDepth + 1, ExprStep{ExprOp::kConst, 1});
  EXPECT_EQ(message(deep), "expression step 16: needs a deeper stack than 16");
}

TEST(Expr, RandomProgramsThatValidateAlsoEvaluate) {
  std::mt19937_64 random(7);
  int valid = 0;
  for (int round = 0; round < 200000; ++round) {
    std::vector<ExprStep> steps(random() % 7);
    for (ExprStep& step : steps) {
      step = {static_cast<ExprOp>(random() % 11), static_cast<int64_t>(random() % 5) - 1};
    }
    Expr expr = Expr::from_steps(steps);
    if (!validate(expr.view(), 3).is_ok()) continue;
    ++valid;
    int64_t slots[3] = {kMinInt, -1, static_cast<int64_t>(random())};
    int64_t first = expr.evaluate(slots);
    EXPECT_EQ(first, expr.evaluate(slots));
    EXPECT_NE(expr.to_string({"a", "b", "c"}), "<invalid expression>");
  }
  EXPECT_GT(valid, 1000);
}

}  // namespace
}  // namespace kaon
