#include "aot_runner/spec/shape.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kaon::runner {

std::string shape_text(const Shape& shape) {
  std::string text;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i > 0) text += 'x';
    text += std::to_string(shape[i]);
  }
  return text;
}

void add_unique(std::vector<WeightedShape>* shapes, const WeightedShape& entry) {
  for (WeightedShape& known : *shapes) {
    if (known.shape == entry.shape) {
      known.weight = std::max(known.weight, entry.weight);
      return;
    }
  }
  shapes->push_back(entry);
}

double log_distance(const Shape& a, const Shape& b) {
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::log2(static_cast<double>(a[i])) - std::log2(static_cast<double>(b[i]));
    sum += d * d;
  }
  return sum;
}

std::vector<int> spread_subset(const std::vector<WeightedShape>& shapes, int count) {
  const int n = static_cast<int>(shapes.size());
  std::vector<int> chosen;
  if (n <= count) {
    for (int i = 0; i < n; ++i) chosen.push_back(i);
    return chosen;
  }
  int next = 0;
  double largest = -1;
  for (int i = 0; i < n; ++i) {
    double product = 1;
    for (int64_t d : shapes[i].shape) product *= static_cast<double>(d);
    if (product > largest) {
      largest = product;
      next = i;
    }
  }
  std::vector<double> nearest(n, std::numeric_limits<double>::infinity());
  while (static_cast<int>(chosen.size()) < count) {
    chosen.push_back(next);
    nearest[next] = -1;
    for (int i = 0; i < n; ++i) nearest[i] = std::min(nearest[i], log_distance(shapes[i].shape, shapes[next].shape));
    next = static_cast<int>(std::max_element(nearest.begin(), nearest.end()) - nearest.begin());
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace kaon::runner
