// The decision tree that picks a variant: integer comparisons over features of a call. Written by heuristics, carried
// by a pack, walked by the runtime when the tree was not linked in as code.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/expr.h"

namespace kaon {

struct TreeFeature {
  std::string name;  // as shown to people and used in generated code: "M", "M*N", "N%8"
  Expr value;        // over the slots of the call
};

/// An inner node compares; a leaf (feature < 0) names its ranked variants.
struct TreeNode {
  int16_t feature = -1;     // index into features, or -1 for a leaf
  int64_t threshold = 0;    // value <= threshold goes left, else right
  uint16_t left = 0;        // node indices, always greater than this node's own
  uint16_t right = 0;
  uint16_t leaf = 0;        // leaf only: index into leaves
  uint32_t shapes = 0;      // training shapes that reach this node, for people
};

struct DecisionTree {
  std::vector<TreeFeature> features;
  std::vector<TreeNode> nodes;                // nodes[0] is the root
  std::vector<std::vector<uint16_t>> leaves;  // variant indices, best first; the generic variant is last in each
};

/// Index of the leaf that serves `slots`. The tree must be valid (children after parents, indices in range).
int find_leaf(const DecisionTree& tree, const int64_t* slots);

/// kCorrupt with the first violation of the invariants above.
Status validate(const DecisionTree& tree, int num_slots, int num_variants);

}  // namespace kaon
