// Each kind of guard at its edge, its words, and spans of empty, reversed and enormous tensors.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/base/guards.h"

namespace kaon {
namespace {

// Slots of f(x: f32[M, N]) -> (out: f32[M]): x out M N x_stride0 x_stride1 out_stride0.
enum Slot { kX, kOut, kM, kN, kXStride0, kXStride1, kOutStride0, kNumSlots };

Signature signature() {
  Signature s;
  s.kernel = "f";
  s.dims = {"M", "N"};
  s.tensors = {{"x", DType::kF32, "", false, false, "", {Expr::slot(kM), Expr::slot(kN)}},
               {"out", DType::kF32, "", true, false, "", {Expr::slot(kM)}}};
  return s;
}

struct Row {
  int64_t slots[kNumSlots] = {0x1000, 0x2008, 4, 24, 24, 1, 1};
  bool accepts(const Guard& guard) const { return holds(signature(), guard, slots); }
  std::string refusal(const Guard& guard) const { return refusing_guard(signature(), {guard}, slots); }
};

TEST(Guards, EachKindHoldsUpToItsEdge) {
  Row row;
  EXPECT_TRUE(row.accepts({GuardKind::kDivisible, kN, 0, 8}));
  EXPECT_FALSE(row.accepts({GuardKind::kDivisible, kN, 0, 16}));
  EXPECT_TRUE(row.accepts({GuardKind::kDivisible, kN, 0, 6}));
  EXPECT_FALSE(row.accepts({GuardKind::kDivisible, kN, 0, 7}));
  EXPECT_TRUE(row.accepts({GuardKind::kEqual, kXStride1, 0, 1}));
  EXPECT_FALSE(row.accepts({GuardKind::kEqual, kXStride1, 0, 0}));
  EXPECT_TRUE(row.accepts({GuardKind::kAtMost, kN, 0, 24}));
  EXPECT_FALSE(row.accepts({GuardKind::kAtMost, kN, 0, 23}));
  EXPECT_TRUE(row.accepts({GuardKind::kAtLeast, kN, 0, 24}));
  EXPECT_FALSE(row.accepts({GuardKind::kAtLeast, kN, 0, 25}));
  EXPECT_TRUE(row.accepts({GuardKind::kCongruent, kX, kOut, 8}));
  EXPECT_FALSE(row.accepts({GuardKind::kCongruent, kX, kOut, 16}));
  EXPECT_TRUE(row.accepts({GuardKind::kCongruent, kX, kOut, 3})) << "0x1000 - 0x2008 is -4104";
  EXPECT_TRUE(row.accepts({GuardKind::kSpanAtMost, 0, 0, 95}));
  EXPECT_FALSE(row.accepts({GuardKind::kSpanAtMost, 0, 0, 94}));
}

TEST(Guards, NegativeStridesDivideAndSpanAsTheirSize) {
  Row row;
  row.slots[kXStride0] = -24;
  EXPECT_TRUE(row.accepts({GuardKind::kDivisible, kXStride0, 0, 8}));
  EXPECT_FALSE(row.accepts({GuardKind::kDivisible, kXStride0, 0, 16}));
  EXPECT_EQ(tensor_span(signature(), 0, row.slots), 3 * 24 + 23);
}

TEST(Guards, SpansOfEmptyAndEnormousTensors) {
  Row row;
  row.slots[kN] = 0;
  EXPECT_EQ(tensor_span(signature(), 0, row.slots), 0);
  row.slots[kXStride0] = std::numeric_limits<int64_t>::max() / 2;
  EXPECT_EQ(tensor_span(signature(), 0, row.slots), 0) << "an axis after the enormous one is empty";
  row.slots[kN] = 1;
  EXPECT_EQ(tensor_span(signature(), 0, row.slots), std::numeric_limits<int64_t>::max());
  EXPECT_FALSE(row.accepts({GuardKind::kSpanAtMost, 0, 0, std::numeric_limits<int32_t>::max()}));
}

TEST(Guards, WordsNameSlotsAndValues) {
  Row row;
  EXPECT_EQ(row.refusal({GuardKind::kDivisible, kN, 0, 8}), "");
  EXPECT_EQ(row.refusal({GuardKind::kDivisible, kN, 0, 16}), "N % 16 == 0 does not hold, N is 24");
  EXPECT_EQ(row.refusal({GuardKind::kEqual, kXStride1, 0, 2}), "x_stride1 == 2 does not hold, x_stride1 is 1");
  EXPECT_EQ(row.refusal({GuardKind::kAtLeast, kM, 0, 5}), "M >= 5 does not hold, M is 4");
  EXPECT_EQ(row.refusal({GuardKind::kCongruent, kX, kOut, 16}),
            "(x - out) % 16 == 0 does not hold, x is 4096, out is 8200");
  EXPECT_EQ(row.refusal({GuardKind::kSpanAtMost, 0, 0, 94}), "span(x) <= 94 does not hold, x spans 95 elements");
  EXPECT_EQ(guards_text(signature(), {}), "none");
  EXPECT_EQ(guards_text(signature(), {{GuardKind::kAtMost, kM, 0, 9}, {GuardKind::kEqual, kN, 0, 24}}),
            "M <= 9, N == 24");
  EXPECT_EQ(first_refusing(signature(), {{GuardKind::kAtMost, kM, 0, 9}, {GuardKind::kEqual, kN, 0, 25}}, row.slots),
            1);
}

}  // namespace
}  // namespace kaon
