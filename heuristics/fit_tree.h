// A small tree fitted by regret: integer thresholds, hard constraints, leaves that only hold measured variants.
#pragma once

#include <cstdint>
#include <vector>

#include "heuristics/samples.h"
#include "runtime/base/tree.h"

namespace kaon::heuristics {

struct GrowOptions {
  int max_depth = 7;
  int min_leaf_shapes = 3;  // measured shapes on each side of a split
  /// Per feature, thresholds with a meaning of their own (landmarks.h): taken where they are as good.
  std::vector<std::vector<int64_t>> preferred;
};

/// A node that knows what it would cost as a leaf, so that pruning needs no samples. Children come after parents.
struct GrownNode {
  int feature = -1;  // -1 for a leaf
  int64_t threshold = 0;
  int left = -1, right = -1;
  int64_t leaf_cost = 0;  // weighted, if this node were a leaf
  int measured_shapes = 0;
  std::vector<uint16_t> ranked;  // if this node were a leaf
};

struct GrownTree {
  std::vector<GrownNode> nodes;  // nodes[0] is the root
  int64_t weight_permille = 0;   // of all samples: turns a price per unit of mean cost into one of total cost
};

/// Grows greedily while a split lowers the total cost. `samples` must not be empty.
GrownTree grow(const std::vector<Sample>& samples, int num_variants, const GrowOptions& options);

/// The ranked variants of the leaf that a sample's features reach.
const std::vector<uint16_t>& leaf_of(const GrownTree& tree, const std::vector<int64_t>& features);

/// A threshold in [low, high) near the geometric middle: a preferred one if there is any, else a multiple of the
/// largest power of two that the range allows within a quarter octave. 0 <= low < high.
int64_t round_threshold(int64_t low, int64_t high, const std::vector<int64_t>& preferred);

}  // namespace kaon::heuristics
