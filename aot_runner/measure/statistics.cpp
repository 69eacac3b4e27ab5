// Order statistics of small samples.
#include "aot_runner/measure/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kaon::runner {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const size_t middle = values.size() / 2;
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle), values.end());
  const double upper = values[middle];
  if (values.size() % 2 != 0) return upper;
  return (*std::max_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(middle)) + upper) / 2;
}

Spread spread(const std::vector<double>& samples) {
  Spread s;
  s.median_error = std::numeric_limits<double>::infinity();
  if (samples.empty()) return s;
  s.median = median(samples);
  s.min = *std::min_element(samples.begin(), samples.end());
  std::vector<double> deviations;
  deviations.reserve(samples.size());
  for (const double sample : samples) deviations.push_back(std::fabs(sample - s.median));
  s.mad = median(std::move(deviations));
  if (samples.size() >= 2 && s.median > 0) {
    s.median_error = 1.2533 * 1.4826 * s.mad / std::sqrt(static_cast<double>(samples.size())) / s.median;
  }
  return s;
}

double quantile(std::vector<double> values, double fraction) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double rank = std::ceil(fraction * static_cast<double>(values.size()));
  const size_t index = static_cast<size_t>(std::clamp(rank - 1, 0.0, static_cast<double>(values.size() - 1)));
  return values[index];
}

}  // namespace kaon::runner
