// Shapes of calls: the values of a kernel's symbolic dims, with the weight that each has in the traffic.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kaon::runner {

/// Values of a kernel's dims, in the order of Signature::dims.
using Shape = std::vector<int64_t>;

struct WeightedShape {
  Shape shape;
  double weight = 1;

  friend bool operator==(const WeightedShape& a, const WeightedShape& b) {
    return a.shape == b.shape && a.weight == b.weight;
  }
};

/// "4096x1024": the key of a shape in stores, reports and messages.
std::string shape_text(const Shape& shape);

/// Adds `entry` unless its shape is there; then the larger weight stays. Keeps the order of first mention.
void add_unique(std::vector<WeightedShape>* shapes, const WeightedShape& entry);

/// Indices of `count` shapes of `shapes` that lie far apart in the logarithms of their dims, the first being the one
/// with the largest product; all indices when there are no more than `count`. Ascending.
std::vector<int> spread_subset(const std::vector<WeightedShape>& shapes, int count);

/// Squared distance of two shapes in the logarithms (base 2) of their dims.
double log_distance(const Shape& a, const Shape& b);

}  // namespace kaon::runner
