// Random inputs: distribution, range per dtype, and independence of how the work was cut; hashes notice every change.
#include "aot_runner/measure/random_data.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "aot_runner/measure/element.h"

namespace kaon::runner {
namespace {

std::vector<double> drawn(DType dtype, const Recipe& recipe, int64_t count, uint64_t seed = 1) {
  std::vector<uint8_t> bytes(static_cast<size_t>(count * dtype_bytes(dtype)));
  fill_random(bytes.data(), count, dtype, plan_fill(recipe, dtype), seed);
  std::vector<double> values;
  for (int64_t i = 0; i < count; ++i) values.push_back(load_element(bytes.data(), i, dtype));
  return values;
}

TEST(RandomData, DefaultFloatsAreRoughlyNormal) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
    const std::vector<double> values = drawn(dtype, {}, 200000);
    double mean = 0, variance = 0, beyond_two = 0;
    for (const double v : values) mean += v / values.size();
    for (const double v : values) variance += (v - mean) * (v - mean) / values.size();
    for (const double v : values) beyond_two += (std::fabs(v) > 2) * 1.0 / values.size();
    EXPECT_NEAR(mean, 0, 0.01) << dtype_name(dtype);
    EXPECT_NEAR(variance, 1, 0.02) << dtype_name(dtype);
    EXPECT_NEAR(beyond_two, 0.0455, 0.006) << dtype_name(dtype);
  }
}

TEST(RandomData, F32ValuesUseTheirWholeSignificand) {
  const std::vector<double> values = drawn(DType::kF32, {}, 100000);
  EXPECT_GT(std::set<double>(values.begin(), values.end()).size(), 99000u);
}

TEST(RandomData, EveryDTypeStaysFiniteAndInItsDefaultRange) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    for (const double v : drawn(dtype, {}, 5000)) {
      ASSERT_TRUE(std::isfinite(v)) << dtype_name(dtype);
      const double limit = dtype_is_float(dtype) ? 10 : dtype == DType::kBool ? 1 : 100;
      ASSERT_LE(std::fabs(v), limit) << dtype_name(dtype);
      ASSERT_GE(v, dtype_is_signed(dtype) ? -limit : 0) << dtype_name(dtype);
    }
  }
}

TEST(RandomData, UniformIntegersReachBothEnds) {
  const std::vector<double> values = drawn(DType::kI64, {RecipeKind::kUniform, -3, 12}, 5000);
  EXPECT_EQ(*std::min_element(values.begin(), values.end()), -3);
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 12);
}

TEST(RandomData, RecipesAreFollowed) {
  for (const double v : drawn(DType::kF32, {RecipeKind::kUniform, 2, 5}, 5000)) ASSERT_TRUE(v >= 2 && v <= 5);
  for (const double v : drawn(DType::kF16, {RecipeKind::kConstant, 1.5, 0}, 100)) ASSERT_EQ(v, 1.5);
  for (const double v : drawn(DType::kI32, {RecipeKind::kConstant, -1, 0}, 100)) ASSERT_EQ(v, -1);
  double mean = 0;
  for (const double v : drawn(DType::kF64, {RecipeKind::kNormal, 50, 2}, 10000)) mean += v / 10000;
  EXPECT_NEAR(mean, 50, 0.2);
}

TEST(RandomData, SeedsAndTensorsDiffer) {
  EXPECT_EQ(drawn(DType::kF32, {}, 100, 7), drawn(DType::kF32, {}, 100, 7));
  EXPECT_NE(drawn(DType::kF32, {}, 100, 7), drawn(DType::kF32, {}, 100, 8));
  EXPECT_NE(tensor_seed(1, 0), tensor_seed(1, 1));
  EXPECT_NE(tensor_seed(1, 0), tensor_seed(2, 0));
}

TEST(RandomData, LongFillsAgreeWithShortOnes) {
  const int64_t count = (1 << 20) + 17;  // long enough for several threads
  std::vector<float> whole(static_cast<size_t>(count)), part(1000);
  const FillPlan plan = plan_fill({}, DType::kF32);
  fill_random(whole.data(), count, DType::kF32, plan, 3);
  fill_random(part.data(), 1000, DType::kF32, plan, 3);
  EXPECT_TRUE(std::equal(part.begin(), part.end(), whole.begin()));
  EXPECT_NE(whole.back(), 0.0f);
}

TEST(RandomData, HashNoticesEveryChangedElementAndEverySwap) {
  for (const int bytes : {1, 2, 4, 8}) {
    std::vector<uint8_t> data(256);
    fill_random(data.data(), 256, DType::kU8, plan_fill({RecipeKind::kUniform, 0, 255}, DType::kU8), 5);
    const int64_t count = 256 / bytes;
    const uint64_t before = hash_elements(data.data(), count, bytes);
    for (size_t i = 0; i < data.size(); ++i) {
      data[i] ^= 1;
      ASSERT_NE(hash_elements(data.data(), count, bytes), before);
      data[i] ^= 1;
    }
    EXPECT_EQ(hash_elements(data.data(), count, bytes), before);
    for (int k = 0; k < bytes; ++k) std::swap(data[static_cast<size_t>(k)], data[static_cast<size_t>(k + bytes)]);
    EXPECT_NE(hash_elements(data.data(), count, bytes), before);
  }
}

TEST(RandomData, F8E4M3BitsAreReadAsTheirValues) {
  const uint8_t bits[] = {0x00, 0x01, 0x08, 0x38, 0x7e, 0xb8, 0x7f};
  const double values[] = {0, 0x1p-9, 0x1p-6, 1, 448, -1};
  for (int64_t i = 0; i < 6; ++i) EXPECT_EQ(load_element(bits, i, DType::kF8E4M3), values[i]);
  EXPECT_TRUE(std::isnan(load_element(bits, 6, DType::kF8E4M3)));
}

}  // namespace
}  // namespace kaon::runner
