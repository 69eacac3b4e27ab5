// How a decision tree is walked, and what makes one safe to walk.
#include "runtime/base/tree.h"

#include "runtime/base/text.h"

namespace kaon {
namespace {

Status bad_node(size_t node, const std::string& what) {
  return make_status(Code::kCorrupt, "tree node ", node, ": ", what);
}

Status validate_node(const DecisionTree& tree, size_t index) {
  const TreeNode& node = tree.nodes[index];
  if (node.feature < 0) {
    if (node.leaf >= tree.leaves.size()) {
      return bad_node(index, cat("names leaf ", node.leaf, " of ", tree.leaves.size()));
    }
    return Status::ok();
  }
  if (static_cast<size_t>(node.feature) >= tree.features.size()) {
    return bad_node(index, cat("compares feature ", node.feature, " of ", tree.features.size()));
  }
  for (uint16_t child : {node.left, node.right}) {
    if (child <= index || child >= tree.nodes.size()) {
      return bad_node(index, cat("has child ", child, ", expected one in ", index + 1, "..", tree.nodes.size() - 1));
    }
  }
  return Status::ok();
}

Status validate_leaf(const DecisionTree& tree, size_t index, int num_variants) {
  const std::vector<uint16_t>& leaf = tree.leaves[index];
  std::string place = cat("tree leaf ", index, ": ");
  if (leaf.empty()) return make_status(Code::kCorrupt, place, "names no variant");
  for (uint16_t variant : leaf) {
    if (variant >= num_variants) {
      return make_status(Code::kCorrupt, place, "names variant ", variant, " of ", num_variants);
    }
  }
  return Status::ok();
}

}  // namespace

int find_leaf(const DecisionTree& tree, const int64_t* slots) {
  const TreeNode* node = tree.nodes.data();
  while (node->feature >= 0) {
    int64_t value = tree.features[node->feature].value.evaluate(slots);
    node = tree.nodes.data() + (value <= node->threshold ? node->left : node->right);
  }
  return node->leaf;
}

Status validate(const DecisionTree& tree, int num_slots, int num_variants) {
  if (tree.nodes.empty()) return {Code::kCorrupt, "tree has no nodes"};
  if (tree.leaves.empty()) return {Code::kCorrupt, "tree has no leaves"};
  for (const TreeFeature& feature : tree.features) {
    if (Status status = validate(feature.value.view(), num_slots); !status.is_ok()) {
      return make_status(status.code(), "tree feature ", feature.name, ": ", status.message());
    }
  }
  for (size_t i = 0; i < tree.nodes.size(); ++i) KAON_RETURN_IF_ERROR(validate_node(tree, i));
  for (size_t i = 0; i < tree.leaves.size(); ++i) KAON_RETURN_IF_ERROR(validate_leaf(tree, i, num_variants));
  return Status::ok();
}

}  // namespace kaon
