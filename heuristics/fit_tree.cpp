// Greedy growth: every threshold of every feature, costs by guard groups kept up as samples cross over.
#include "heuristics/fit_tree.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heuristics/leaf_rank.h"

namespace kaon::heuristics {
namespace {

struct Split {
  int feature = -1;
  int64_t threshold = 0;
  int64_t cost = std::numeric_limits<int64_t>::max();
};

class Grower {
 public:
  Grower(const std::vector<Sample>& samples, int num_variants, const GrowOptions& options)
      : samples_(samples), groups_(samples, num_variants), options_(options) {}

  GrownTree run() {
    std::vector<size_t> all(samples_.size());
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
      tree_.weight_permille += samples_[i].weight_permille;
    }
    grow_node(all, 0);
    return std::move(tree_);
  }

 private:
  int grow_node(const std::vector<size_t>& members, int depth) {
    const int index = static_cast<int>(tree_.nodes.size());
    tree_.nodes.emplace_back();
    LeafStats stats(samples_, groups_);
    for (size_t i : members) stats.add(i);
    GrownNode node;
    node.leaf_cost = stats.best_chain(nullptr);
    node.measured_shapes = stats.measured_shapes();
    node.ranked = stats.ranked();
    if (depth < options_.max_depth && node.leaf_cost > 0) {
      Split split = best_split(members, stats);
      if (split.feature >= 0 && split.cost < node.leaf_cost) {
        std::vector<size_t> left, right;
        for (size_t i : members) {
          (samples_[i].features[split.feature] <= split.threshold ? left : right).push_back(i);
        }
        node.feature = split.feature;
        node.threshold = split.threshold;
        node.left = grow_node(left, depth + 1);
        node.right = grow_node(right, depth + 1);
      }
    }
    tree_.nodes[index] = std::move(node);
    return index;
  }

  Split best_split(const std::vector<size_t>& members, const LeafStats& all) const {
    Split best;
    const int num_features = members.empty() ? 0 : static_cast<int>(samples_[members[0]].features.size());
    for (int f = 0; f < num_features; ++f) scan_feature(f, members, all, &best);
    return best;
  }

  // Neighbouring thresholds of equal cost are one plateau: the truth is anywhere on it, so its middle is taken.
  void scan_feature(int f, std::vector<size_t> order, const LeafStats& all, Split* best) const {
    auto value = [&](size_t i) { return samples_[i].features[f]; };
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return value(a) < value(b); });
    LeafStats left(samples_, groups_), right = all;
    int64_t plateau_cost = -1, plateau_low = 0, plateau_high = 0;
    auto close_plateau = [&] {
      if (plateau_cost < 0 || plateau_cost >= best->cost) return;
      const bool has_preferred = static_cast<size_t>(f) < options_.preferred.size();
      const std::vector<int64_t> none;
      *best = {f, round_threshold(plateau_low, plateau_high, has_preferred ? options_.preferred[f] : none),
               plateau_cost};
    };
    for (size_t k = 0; k + 1 < order.size(); ++k) {
      left.add(order[k]);
      right.remove(order[k]);
      if (value(order[k]) == value(order[k + 1])) continue;
      const bool legal =
          left.measured_shapes() >= options_.min_leaf_shapes && right.measured_shapes() >= options_.min_leaf_shapes;
      const int64_t cost = legal ? left.best_chain(nullptr) + right.best_chain(nullptr) : -1;
      if (cost != plateau_cost) {
        close_plateau();
        plateau_cost = cost;
        plateau_low = value(order[k]);
      }
      plateau_high = value(order[k + 1]);
    }
    close_plateau();
  }

  const std::vector<Sample>& samples_;
  GuardGroups groups_;
  const GrowOptions& options_;
  GrownTree tree_;
};

}  // namespace

GrownTree grow(const std::vector<Sample>& samples, int num_variants, const GrowOptions& options) {
  return Grower(samples, num_variants, options).run();
}

const std::vector<uint16_t>& leaf_of(const GrownTree& tree, const std::vector<int64_t>& features) {
  const GrownNode* node = &tree.nodes[0];
  while (node->feature >= 0) node = &tree.nodes[features[node->feature] <= node->threshold ? node->left : node->right];
  return node->ranked;
}

int64_t round_threshold(int64_t low, int64_t high, const std::vector<int64_t>& preferred) {
  const double middle = low > 0 ? std::sqrt(static_cast<double>(low) * static_cast<double>(high))
                                : std::floor((static_cast<double>(low) + static_cast<double>(high)) / 2);
  int64_t best = -1;
  for (int64_t candidate : preferred) {
    if (candidate < low || candidate >= high) continue;
    const bool closer =
        std::abs(static_cast<double>(candidate) - middle) < std::abs(static_cast<double>(best) - middle);
    if (best < 0 || closer) best = candidate;
  }
  if (best >= 0) return best;
  const double reach = std::exp2(0.25);
  const int64_t from = std::max(low, static_cast<int64_t>(std::ceil(middle / reach)));
  const int64_t to = std::min(high - 1, static_cast<int64_t>(std::floor(middle * reach)));
  for (int64_t step = int64_t{1} << 40; step > 1; step /= 2) {
    const int64_t nearest = static_cast<int64_t>(std::llround(middle / static_cast<double>(step))) * step;
    if (nearest >= from && nearest <= to) return nearest;
  }
  return std::clamp(static_cast<int64_t>(std::llround(middle)), low, high - 1);
}

}  // namespace kaon::heuristics
