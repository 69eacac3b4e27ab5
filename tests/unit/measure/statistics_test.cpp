// Order statistics on samples whose answers are known.
#include "aot_runner/measure/statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace kaon::runner {
namespace {

TEST(Statistics, MedianOfOddEvenAndNone) {
  EXPECT_EQ(median({}), 0);
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({2, 2, 2, 9}), 2);
}

TEST(Statistics, SpreadIgnoresOneOutlier) {
  const Spread s = spread({10, 11, 9, 10, 1000});
  EXPECT_EQ(s.median, 10);
  EXPECT_EQ(s.mad, 1);
  EXPECT_EQ(s.min, 9);
  EXPECT_NEAR(s.median_error, 1.2533 * 1.4826 / std::sqrt(5.0) / 10, 1e-12);
}

TEST(Statistics, OneSampleSaysNothingAboutItsError) {
  EXPECT_TRUE(std::isinf(spread({}).median_error));
  EXPECT_TRUE(std::isinf(spread({7}).median_error));
  EXPECT_EQ(spread({7, 7}).median_error, 0);
}

TEST(Statistics, MedianErrorIsTheDeviationOfMedians) {
  std::mt19937_64 random(1);
  std::normal_distribution<double> normal(100, 3);
  std::vector<double> medians, errors;
  for (int i = 0; i < 4000; ++i) {
    std::vector<double> samples(41);
    for (double& sample : samples) sample = normal(random);
    medians.push_back(median(samples));
    errors.push_back(spread(samples).median_error * median(samples));
  }
  double mean = 0, variance = 0;
  for (const double m : medians) mean += m / medians.size();
  for (const double m : medians) variance += (m - mean) * (m - mean) / medians.size();
  EXPECT_NEAR(median(errors) / std::sqrt(variance), 1.0, 0.1);
}

TEST(Statistics, QuantileTakesTheNearestRank) {
  EXPECT_EQ(quantile({}, 0.5), 0);
  EXPECT_EQ(quantile({4, 2, 1, 3}, 0.5), 2);
  EXPECT_EQ(quantile({4, 2, 1, 3}, 0.9), 4);
  EXPECT_EQ(quantile({4, 2, 1, 3}, 0.0), 1);
  EXPECT_EQ(quantile({4, 2, 1, 3}, 1.0), 4);
}

}  // namespace
}  // namespace kaon::runner
