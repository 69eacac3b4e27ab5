// Ids that ascend, and offsets of rows of the lengths that their name says.
#include "aot_runner/measure/ordered_data.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "aot_runner/measure/element.h"

namespace kaon::runner {
namespace {

using testing::Each;
using testing::Ge;
using testing::HasSubstr;
using testing::Le;

std::vector<double> made(RecipeKind kind, double low, double high, int64_t count, DType dtype = DType::kI64,
                         uint64_t seed = 1) {
  const Result<std::vector<uint8_t>> bytes = ordered_elements({kind, low, high}, dtype, count, seed);
  EXPECT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  std::vector<double> values;
  for (int64_t i = 0; bytes.is_ok() && i < count; ++i) values.push_back(load_element(bytes->data(), i, dtype));
  return values;
}

std::vector<double> lengths(RecipeKind kind, double total, int64_t rows) {
  std::vector<double> offsets = made(kind, 0, total, rows + 1);
  EXPECT_EQ(offsets.front(), 0);
  EXPECT_EQ(offsets.back(), total);
  std::vector<double> result;
  for (size_t i = 1; i < offsets.size(); ++i) result.push_back(offsets[i] - offsets[i - 1]);
  return result;
}

TEST(OrderedData, SortedValuesAscendWithinTheirRangeAndMeetAllOfIt) {
  for (const DType dtype : {DType::kI32, DType::kI64}) {
    const std::vector<double> ids = made(RecipeKind::kSorted, -2, 9, 1000, dtype);
    EXPECT_TRUE(std::is_sorted(ids.begin(), ids.end()));
    EXPECT_EQ(ids.front(), -2);
    EXPECT_EQ(ids.back(), 9);
  }
  EXPECT_NE(made(RecipeKind::kSorted, 0, 99, 50), made(RecipeKind::kSorted, 0, 99, 50, DType::kI64, 2));
  EXPECT_TRUE(made(RecipeKind::kSorted, 0, 9, 0).empty());
}

TEST(OrderedData, RowsAreAsLongAsTheirKindSays) {
  EXPECT_THAT(lengths(RecipeKind::kEvenOffsets, 1000, 100), Each(10));
  const std::vector<double> uniform = lengths(RecipeKind::kUniformOffsets, 100000, 1000);
  EXPECT_THAT(uniform, Each(Le(220)));
  EXPECT_LT(*std::min_element(uniform.begin(), uniform.end()), 5);
  EXPECT_GT(*std::max_element(uniform.begin(), uniform.end()), 180);
  std::vector<double> power = lengths(RecipeKind::kPowerOffsets, 100000, 1000);
  EXPECT_FALSE(std::is_sorted(power.begin(), power.end(), std::greater<>()));
  std::sort(power.begin(), power.end(), std::greater<>());
  EXPECT_NEAR(power[0] / power[9], 10, 0.1);
  const std::vector<double> giant = lengths(RecipeKind::kGiantOffsets, 2000, 101);
  EXPECT_EQ(*std::max_element(giant.begin(), giant.end()), 1000);
  EXPECT_EQ(std::count_if(giant.begin(), giant.end(), [](double length) { return length <= 10; }), 100);
  const std::vector<double> half = lengths(RecipeKind::kHalfOffsets, 1000, 100);
  EXPECT_EQ(std::count(half.begin(), half.end(), 0), 50);
  EXPECT_EQ(std::count(half.begin(), half.end(), 20), 50);
}

TEST(OrderedData, OneRowHasAllAndNoRowsHaveNone) {
  for (const RecipeKind kind : {RecipeKind::kEvenOffsets, RecipeKind::kUniformOffsets, RecipeKind::kPowerOffsets,
                                RecipeKind::kGiantOffsets, RecipeKind::kHalfOffsets}) {
    EXPECT_EQ(made(kind, 0, 7, 2), (std::vector<double>{0, 7}));
    EXPECT_EQ(made(kind, 0, 0, 1), (std::vector<double>{0}));
    EXPECT_TRUE(made(kind, 0, 0, 0).empty());
    EXPECT_THAT(lengths(kind, 3, 40), Each(Ge(0)));
  }
}

TEST(OrderedData, WhatDoesNotFitItsTypeIsAnError) {
  const auto message = [](RecipeKind kind, double low, double high, DType dtype) {
    return ordered_elements({kind, low, high}, dtype, 4, 1).status().message();
  };
  EXPECT_THAT(message(RecipeKind::kSorted, 0, 3, DType::kF32), HasSubstr("only integers"));
  EXPECT_THAT(message(RecipeKind::kEvenOffsets, 0, 1e10, DType::kI32), HasSubstr("do not fit i32"));
  EXPECT_THAT(message(RecipeKind::kSorted, -1, 3, DType::kU8), HasSubstr("do not fit u8"));
}

}  // namespace
}  // namespace kaon::runner
