// Cost-complexity pruning, merging and printing.
#include "heuristics/tree_passes.h"

#include <algorithm>

namespace kaon::heuristics {
namespace {

struct Pruned {
  int64_t cost = 0;
  int leaves = 1;
};

// Decides bottom-up which nodes stay inner nodes; children have larger indices than their parents.
std::vector<Pruned> decide(const GrownTree& grown, int64_t price, std::vector<char>* inner) {
  std::vector<Pruned> best(grown.nodes.size());
  inner->assign(grown.nodes.size(), 0);
  for (size_t i = grown.nodes.size(); i-- > 0;) {
    const GrownNode& node = grown.nodes[i];
    best[i] = {node.leaf_cost, 1};
    if (node.feature < 0) continue;
    Pruned split{best[node.left].cost + best[node.right].cost, best[node.left].leaves + best[node.right].leaves};
    if (split.cost + price * (split.leaves - 1) < node.leaf_cost) {
      best[i] = split;
      (*inner)[i] = 1;
    }
  }
  return best;
}

int copy_kept(const GrownTree& grown, const std::vector<char>& inner, int from, GrownTree* out) {
  const int index = static_cast<int>(out->nodes.size());
  out->nodes.push_back(grown.nodes[from]);
  GrownNode node = grown.nodes[from];
  if (inner[from]) {
    node.left = copy_kept(grown, inner, node.left, out);
    node.right = copy_kept(grown, inner, node.right, out);
  } else {
    node.feature = node.left = node.right = -1;
    node.threshold = 0;
  }
  out->nodes[index] = std::move(node);
  return index;
}

// Whether all leaves below have the same ranked list; `list` receives it.
bool uniform(const GrownTree& grown, int index, const std::vector<uint16_t>** list) {
  const GrownNode& node = grown.nodes[index];
  if (node.feature < 0) {
    if (*list == nullptr) *list = &node.ranked;
    return **list == node.ranked;
  }
  return uniform(grown, node.left, list) && uniform(grown, node.right, list);
}

class TreeBuilder {
 public:
  TreeBuilder(const GrownTree& grown, const std::vector<TreeFeature>& features) : grown_(grown) {
    std::vector<char> used(features.size(), 0);
    mark_used(0, &used);
    new_index_.assign(features.size(), -1);
    for (size_t f = 0; f < features.size(); ++f) {
      if (!used[f]) continue;
      new_index_[f] = static_cast<int16_t>(tree_.features.size());
      tree_.features.push_back(features[f]);
    }
  }

  DecisionTree run() {
    build(0);
    return std::move(tree_);
  }

 private:
  void mark_used(int index, std::vector<char>* used) const {
    const std::vector<uint16_t>* list = nullptr;
    const GrownNode& node = grown_.nodes[index];
    if (uniform(grown_, index, &list)) return;
    (*used)[node.feature] = 1;
    mark_used(node.left, used);
    mark_used(node.right, used);
  }

  uint16_t leaf_index(const std::vector<uint16_t>& ranked) {
    auto it = std::find(tree_.leaves.begin(), tree_.leaves.end(), ranked);
    if (it == tree_.leaves.end()) it = tree_.leaves.insert(tree_.leaves.end(), ranked);
    return static_cast<uint16_t>(it - tree_.leaves.begin());
  }

  uint16_t build(int from) {
    const GrownNode& grown = grown_.nodes[from];
    const uint16_t index = static_cast<uint16_t>(tree_.nodes.size());
    tree_.nodes.emplace_back();
    TreeNode node;
    node.shapes = static_cast<uint32_t>(grown.measured_shapes);
    const std::vector<uint16_t>* list = nullptr;
    if (uniform(grown_, from, &list)) {
      node.leaf = leaf_index(*list);
    } else {
      node.feature = new_index_[grown.feature];
      node.threshold = grown.threshold;
      node.left = build(grown.left);
      node.right = build(grown.right);
    }
    tree_.nodes[index] = node;
    return index;
  }

  const GrownTree& grown_;
  std::vector<int16_t> new_index_;
  DecisionTree tree_;
};

void append_node(const DecisionTree& tree, const std::vector<std::string>& names, size_t index, int depth,
                 std::string* out) {
  const TreeNode& node = tree.nodes[index];
  out->append(static_cast<size_t>(depth) * 2, ' ');
  const std::string shapes = "(" + std::to_string(node.shapes) + (node.shapes == 1 ? " shape)" : " shapes)");
  if (node.feature >= 0) {
    *out += tree.features[node.feature].name + " <= " + std::to_string(node.threshold) + " " + shapes + "\n";
    append_node(tree, names, node.left, depth + 1, out);
    append_node(tree, names, node.right, depth + 1, out);
    return;
  }
  *out += "leaf " + std::to_string(node.leaf) + " " + shapes + ":";
  for (size_t i = 0; i < tree.leaves[node.leaf].size(); ++i) {
    *out += (i > 0 ? " > " : " ") + names[tree.leaves[node.leaf][i]];
  }
  *out += "\n";
}

}  // namespace

GrownTree prune(const GrownTree& grown, int64_t price_micro, int max_leaves) {
  std::vector<char> inner;
  for (;;) {
    std::vector<Pruned> best = decide(grown, price_micro * grown.weight_permille, &inner);
    if (best[0].leaves <= std::max(max_leaves, 1)) break;
    price_micro += price_micro / 2 + 50;
  }
  GrownTree pruned;
  pruned.weight_permille = grown.weight_permille;
  copy_kept(grown, inner, 0, &pruned);
  return pruned;
}

DecisionTree to_decision_tree(const GrownTree& grown, const std::vector<TreeFeature>& features) {
  return TreeBuilder(grown, features).run();
}

std::string tree_text(const DecisionTree& tree, const std::vector<std::string>& variant_names) {
  std::string text;
  append_node(tree, variant_names, 0, 0, &text);
  return text;
}

}  // namespace kaon::heuristics
