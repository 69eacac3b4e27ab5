// The best chain of variants by branch and bound over guard groups.
#include "heuristics/leaf_rank.h"

#include <algorithm>
#include <limits>

namespace kaon::heuristics {

GuardGroups::GuardGroups(const std::vector<Sample>& samples, int num_variants) : num_variants_(num_variants) {
  // The last group is for whatever exceeds the limit: it counts as refused by all but the generic variant.
  const uint32_t only_generic = (1u << (num_variants - 1)) - 1;
  for (const Sample& sample : samples) {
    uint32_t refused = sample.refused & only_generic;
    auto it = std::find(refused_.begin(), refused_.end(), refused);
    if (it == refused_.end() && refused_.size() >= kMaxGroups - 1) {
      refused = only_generic;
      it = std::find(refused_.begin(), refused_.end(), refused);
    }
    if (it == refused_.end()) it = refused_.insert(refused_.end(), refused);
    group_of_.push_back(static_cast<int>(it - refused_.begin()));
  }
  accepted_.assign(num_variants, 0);
  for (int v = 0; v < num_variants; ++v) {
    for (size_t g = 0; g < refused_.size(); ++g) {
      if (!(refused_[g] >> v & 1)) accepted_[v] |= uint64_t{1} << g;
    }
  }
}

LeafStats::LeafStats(const std::vector<Sample>& samples, const GuardGroups& groups)
    : samples_(samples),
      groups_(groups),
      cost_(static_cast<size_t>(groups.num_groups()) * groups.num_variants(), 0),
      weight_(groups.num_groups(), 0),
      group_count_(groups.num_groups(), 0),
      right_(groups.num_variants(), 0),
      failed_(groups.num_variants(), 0) {}

bool LeafStats::allowed(int variant) const {
  if (variant == groups_.num_variants() - 1) return true;
  return failed_[variant] == 0 && right_[variant] > 0;
}

void LeafStats::move(size_t index, int sign) {
  const Sample& sample = samples_[index];
  const int group = groups_.group_of(index);
  const int n = groups_.num_variants();
  group_count_[group] += sign;
  weight_[group] += sign * sample.weight_permille;
  int64_t* cost = cost_.data() + static_cast<size_t>(group) * n;
  for (int v = 0; v < n; ++v) cost[v] += sign * sample.weight_permille * sample.cost_micro[v];
  if (sample.shape < 0) return;
  measured_shapes_ += sign;
  for (int v = 0; v < n; ++v) {
    if (sample.states[v] == CellState::kMeasured) right_[v] += sign;
    if (sample.states[v] == CellState::kFailed) failed_[v] += sign;
  }
}

struct LeafStats::Search {
  int64_t best = std::numeric_limits<int64_t>::max();
  std::vector<uint16_t> path, best_path;
};

void LeafStats::extend(Search* search, uint64_t remaining, int64_t so_far) const {
  const int n = groups_.num_variants();
  for (int v = 0; v < n; ++v) {
    const uint64_t served = remaining & groups_.accepted_groups(v);
    if (served == 0 || !allowed(v)) continue;
    int64_t cost = so_far;
    for (uint64_t bits = served; bits != 0; bits &= bits - 1) {
      cost += cost_[static_cast<size_t>(__builtin_ctzll(bits)) * n + v];
    }
    if (cost >= search->best) continue;
    search->path.push_back(static_cast<uint16_t>(v));
    if (remaining == served) {
      search->best = cost;
      search->best_path = search->path;
    } else {
      extend(search, remaining & ~served, cost);
    }
    search->path.pop_back();
  }
}

int64_t LeafStats::best_chain(std::vector<uint16_t>* chain) const {
  uint64_t present = 0;
  for (size_t g = 0; g < group_count_.size(); ++g) {
    if (group_count_[g] > 0) present |= uint64_t{1} << g;
  }
  Search search;
  extend(&search, present, 0);
  if (chain != nullptr) *chain = search.best_path;
  return search.best;
}

std::vector<uint16_t> LeafStats::ranked() const {
  const int n = groups_.num_variants();
  const uint16_t generic = static_cast<uint16_t>(n - 1);
  std::vector<uint16_t> order;
  best_chain(&order);
  std::vector<std::pair<double, uint16_t>> rest;
  for (uint16_t v = 0; v < generic; ++v) {
    if (!allowed(v) || std::find(order.begin(), order.end(), v) != order.end()) continue;
    int64_t own = 0, generic_cost = 0, weight = 0;
    for (size_t g = 0; g < weight_.size(); ++g) {
      if (!(groups_.accepted_groups(v) >> g & 1)) continue;
      own += cost_[g * n + v];
      generic_cost += cost_[g * n + generic];
      weight += weight_[g];
    }
    if (weight > 0 && own <= generic_cost) rest.push_back({static_cast<double>(own) / weight, v});
  }
  std::sort(rest.begin(), rest.end());
  order.erase(std::remove(order.begin(), order.end(), generic), order.end());
  for (const auto& [cost, v] : rest) order.push_back(v);
  order.push_back(generic);
  return order;
}

}  // namespace kaon::heuristics
