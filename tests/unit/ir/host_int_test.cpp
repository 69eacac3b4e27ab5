// Extents have one normal form, and what it says equals what is evaluated at a call.
#include "compiler/ir/host_int.h"

#include <gtest/gtest.h>

#include <random>

namespace kaon::compiler {
namespace {

HostInt m() { return HostInt::slot("M", 0, /*is_natural=*/true); }
HostInt h() { return HostInt::slot("H", 1, /*is_natural=*/true); }
HostInt s() { return HostInt::slot("s", 2, /*is_natural=*/false); }
HostInt apply(ExprOp op, const HostInt& a, const HostInt& b) { return HostInt::binary(op, a, b).value(); }

TEST(HostInt, CancelsAndOrders) {
  const HostInt twice = apply(ExprOp::kMul, HostInt(2), h());
  EXPECT_EQ(twice.to_string(), "2*H");
  EXPECT_TRUE(apply(ExprOp::kSub, twice, h()) == h());
  EXPECT_EQ(apply(ExprOp::kAdd, HostInt(1), m()).to_string(), "M + 1");
  EXPECT_EQ(apply(ExprOp::kSub, m(), apply(ExprOp::kMul, h(), m())).to_string(), "M - H*M");
  EXPECT_EQ(apply(ExprOp::kSub, m(), m()).constant(), 0);
}

TEST(HostInt, KnowsWhatIsNeverNegative) {
  EXPECT_TRUE(apply(ExprOp::kMul, m(), h()).is_natural());
  EXPECT_TRUE(apply(ExprOp::kFloorDiv, m(), HostInt(2)).is_natural());
  EXPECT_TRUE(apply(ExprOp::kMod, s(), HostInt(3)).is_natural());
  EXPECT_FALSE(apply(ExprOp::kSub, m(), HostInt(1)).is_natural());
  EXPECT_FALSE(s().is_natural());
  EXPECT_FALSE(apply(ExprOp::kFloorDiv, m(), s()).is_natural());
}

TEST(HostInt, FoldsConstants) {
  EXPECT_EQ(apply(ExprOp::kFloorDiv, HostInt(-7), HostInt(2)).constant(), -4);
  EXPECT_EQ(apply(ExprOp::kMod, HostInt(-7), HostInt(2)).constant(), 1);
  EXPECT_EQ(apply(ExprOp::kMax, HostInt(3), HostInt(5)).constant(), 5);
}

TEST(HostInt, GivesUpBeforeItGrowsOrOverflows) {
  EXPECT_FALSE(HostInt::binary(ExprOp::kMul, HostInt(INT64_MAX), HostInt(2)));
  std::optional<HostInt> value = m();
  int steps = 0;
  for (; value && steps < 64; ++steps) {
    const std::optional<HostInt> product = HostInt::binary(ExprOp::kMul, *value, h());
    value = product ? HostInt::binary(ExprOp::kMod, *product, HostInt(7)) : std::nullopt;
  }
  EXPECT_LT(steps, 64);
}

TEST(HostInt, IsReadFromAnExpression) {
  Signature signature;
  signature.dims = {"M", "H"};
  const Expr rows = Expr::slot(0), half = Expr::slot(1);
  const HostInt whole = HostInt::from_expr(half * Expr(2), signature).value();
  const HostInt rest = HostInt::from_expr(Expr(2) * half - half, signature).value();
  EXPECT_EQ(whole.to_string(), "2*H");
  EXPECT_TRUE(apply(ExprOp::kSub, whole, rest) == rest);
  EXPECT_TRUE(HostInt::from_expr(ceil_div(rows, Expr(4)) * half, signature).value().is_natural());
  EXPECT_FALSE(HostInt::from_expr(rows - half, signature).value().is_natural());
}

TEST(HostInt, NormalFormEqualsDirectEvaluation) {
  std::mt19937 random(7);
  const ExprOp ops[] = {ExprOp::kAdd, ExprOp::kSub, ExprOp::kMul, ExprOp::kFloorDiv,
                        ExprOp::kMod, ExprOp::kMin, ExprOp::kMax};
  const int64_t slots[] = {5, 12, -3};
  for (int round = 0; round < 2000; ++round) {
    std::vector<std::pair<HostInt, int64_t>> pool = {{m(), 5}, {h(), 12}, {s(), -3}, {HostInt(4), 4}};
    for (int i = 0; i < 5; ++i) {
      const auto a = pool[random() % pool.size()];
      const auto b = pool[random() % pool.size()];
      const ExprOp op = ops[random() % std::size(ops)];
      const std::optional<HostInt> result = HostInt::binary(op, a.first, b.first);
      if (!result) continue;
      const int64_t expected = Expr::binary(op, Expr(a.second), Expr(b.second)).evaluate(nullptr);
      ASSERT_EQ(result->to_expr().evaluate(slots), expected) << result->to_string();
      pool.push_back({*result, expected});
    }
  }
}

}  // namespace
}  // namespace kaon::compiler
