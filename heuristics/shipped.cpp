// Joining trees below comparisons of the specialised dimensions.
#include "heuristics/shipped.h"

#include <algorithm>

namespace kaon::heuristics {
namespace {

/// The tree of one table, and the values of dimensions that lead to it.
struct Part {
  const DecisionTree* tree = nullptr;
  std::vector<std::pair<int, int64_t>> values;  // slot, value; in order of slots
  int first_variant = 0;
};

using Parts = std::vector<Part>;

class TreeJoin {
 public:
  explicit TreeJoin(const Signature& signature) : names_(signature.slot_names()) {}

  DecisionTree run(Parts parts) {
    std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) { return a.values < b.values; });
    add(parts, 0);
    return std::move(tree_);
  }

 private:
  /// The nodes of `parts`, sorted, which agree in the first `known` values. Index of the first node.
  uint16_t add(const Parts& parts, size_t known) {
    if (known == parts[0].values.size()) return add_tree(parts[0]);
    const auto [slot, value] = parts[0].values[known];
    const auto differs = [&, wanted = value](const Part& part) { return part.values[known].second != wanted; };
    const auto rest = std::find_if(parts.begin(), parts.end(), differs);
    if (rest == parts.end()) return add(parts, known + 1);
    const size_t node = tree_.nodes.size();
    tree_.nodes.emplace_back();
    const int16_t feature = feature_index({names_[static_cast<size_t>(slot)], Expr::slot(slot)});
    const uint16_t left = add(Parts(parts.begin(), rest), known + 1);
    const uint16_t right = add(Parts(rest, parts.end()), known);
    const uint32_t shapes = tree_.nodes[left].shapes + tree_.nodes[right].shapes;
    tree_.nodes[node] = {feature, value, left, right, 0, shapes};
    return static_cast<uint16_t>(node);
  }

  uint16_t add_tree(const Part& part) {
    const auto first_node = static_cast<uint16_t>(tree_.nodes.size());
    const auto first_leaf = static_cast<uint16_t>(tree_.leaves.size());
    for (TreeNode node : part.tree->nodes) {
      if (node.feature < 0) {
        node.leaf = static_cast<uint16_t>(node.leaf + first_leaf);
      } else {
        node.feature = feature_index(part.tree->features[static_cast<size_t>(node.feature)]);
        node.left = static_cast<uint16_t>(node.left + first_node);
        node.right = static_cast<uint16_t>(node.right + first_node);
      }
      tree_.nodes.push_back(node);
    }
    for (std::vector<uint16_t> leaf : part.tree->leaves) {
      for (uint16_t& variant : leaf) variant = static_cast<uint16_t>(variant + part.first_variant);
      tree_.leaves.push_back(std::move(leaf));
    }
    return first_node;
  }

  int16_t feature_index(const TreeFeature& feature) {
    const auto known = std::find_if(tree_.features.begin(), tree_.features.end(),
                                    [&](const TreeFeature& f) { return f.value == feature.value; });
    if (known != tree_.features.end()) return static_cast<int16_t>(known - tree_.features.begin());
    tree_.features.push_back(feature);
    return static_cast<int16_t>(tree_.features.size() - 1);
  }

  const std::vector<std::string> names_;
  DecisionTree tree_;
};

}  // namespace

std::vector<ShippedTable> shipped_tables(const Measurements& measurements, const Distilled& distilled) {
  std::vector<ShippedTable> all;
  for (size_t t = 0; t < distilled.tables.size(); ++t) {
    const std::string dtypes = measurements.tables[distilled.tables[t].table].dtype_key();
    auto known = std::find_if(all.begin(), all.end(), [&](const ShippedTable& s) { return s.dtypes == dtypes; });
    if (known == all.end()) known = all.insert(all.end(), {dtypes, {}, {}});
    known->parts.push_back(static_cast<int>(t));
  }
  for (ShippedTable& shipped : all) {
    if (shipped.parts.size() == 1) {
      shipped.tree = distilled.tables[shipped.parts[0]].tree;
      continue;
    }
    Parts parts;
    for (int index : shipped.parts) {
      const DistilledTable& table = distilled.tables[index];
      parts.push_back({&table.tree, measurements.tables[table.table].specialised_values(), table.first_variant});
    }
    shipped.tree = TreeJoin(measurements.tables[distilled.tables[shipped.parts[0]].table].signature).run(parts);
  }
  return all;
}

}  // namespace kaon::heuristics
