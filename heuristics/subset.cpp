// Exact search over small problems; greedy additions, removals and swaps over large ones.
#include "heuristics/subset.h"

#include <algorithm>
#include <cmath>

namespace kaon::heuristics {
namespace {

constexpr int64_t kMaxExactSubsets = 20'000;

class SubsetProblem {
 public:
  SubsetProblem(const Table& table, const CostTable& costs, const std::vector<int>& shapes, int64_t price_micro)
      : generic_(table.generic_config), num_shapes_(shapes.size()), columns_(table.num_configs()) {
    double total = 0;
    for (int s : shapes) total += table.shapes[s].weight;
    for (int s : shapes) {
      weights_.push_back(std::max<int64_t>(
          1, std::llround(1000 * table.shapes[s].weight * static_cast<double>(shapes.size()) / total)));
    }
    for (int64_t w : weights_) price_ += price_micro * w;
    for (int c = 0; c < table.num_configs(); ++c) {
      bool useful = false;
      for (int s : shapes) {
        const bool can = costs.state(s, c) == CellState::kMeasured;
        useful |= can;
        columns_[c].push_back(can ? costs.cost_micro(s, c) : CostTable::kFailedMicro);
      }
      if (useful && c != generic_) candidates_.push_back(c);
    }
  }

  // Predicted shapes change neither the candidates nor the total price.
  void add_predicted(const Table& table, const CostTable& costs, const std::vector<PredictedShape>& predicted,
                     const CostModel& model) {
    for (const PredictedShape& shape : predicted) {
      weights_.push_back(shape.weight_permille);
      const double reference = costs.reference_near(table, shape.slots);
      for (size_t c = 0; c < columns_.size(); ++c) {
        const double slowdown = static_cast<double>(shape.slowdown_permille[c]) / 1000;
        columns_[c].push_back(slowdown > 0 ? model.cost_micro(slowdown, reference) : CostTable::kFailedMicro);
      }
    }
    num_shapes_ += predicted.size();
  }

  const std::vector<int32_t>& candidates() const { return candidates_; }

  // Total weighted cost of serving each shape with its cheapest among `chosen` and the generic config, plus prices.
  int64_t objective(const std::vector<int32_t>& chosen) const {
    int64_t total = price_ * static_cast<int64_t>(chosen.size());
    for (size_t i = 0; i < num_shapes_; ++i) {
      int64_t best = columns_[generic_][i];
      for (int32_t c : chosen) best = std::min(best, columns_[c][i]);
      total += best * weights_[i];
    }
    return total;
  }

  std::vector<int32_t> exact(int max_size) const {
    std::vector<int32_t> best, current;
    int64_t best_cost = objective({});
    enumerate(0, max_size, &current, &best, &best_cost);
    return best;
  }

  std::vector<int32_t> greedy(int max_size) const {
    std::vector<int32_t> chosen;
    int64_t cost = objective(chosen);
    while (static_cast<int>(chosen.size()) < max_size && add_best(&chosen, &cost)) {
    }
    while (improve(max_size, &chosen, &cost)) {
    }
    return chosen;
  }

  // The most useful first: by what the set would lose without it, then by index.
  void sort_by_use(std::vector<int32_t>* chosen) const {
    std::vector<std::pair<int64_t, int32_t>> order;
    for (int32_t c : *chosen) order.push_back({-objective(without(*chosen, c)), c});
    std::sort(order.begin(), order.end());
    for (size_t i = 0; i < order.size(); ++i) (*chosen)[i] = order[i].second;
  }

 private:
  static std::vector<int32_t> without(std::vector<int32_t> chosen, int32_t config) {
    chosen.erase(std::find(chosen.begin(), chosen.end(), config));
    return chosen;
  }

  void enumerate(size_t from, int left, std::vector<int32_t>* current, std::vector<int32_t>* best,
                 int64_t* best_cost) const {
    if (left == 0) return;
    for (size_t i = from; i < candidates_.size(); ++i) {
      current->push_back(candidates_[i]);
      int64_t cost = objective(*current);
      if (cost < *best_cost) {
        *best_cost = cost;
        *best = *current;
      }
      enumerate(i + 1, left - 1, current, best, best_cost);
      current->pop_back();
    }
  }

  bool take_if_better(std::vector<int32_t> trial, std::vector<int32_t>* best, int64_t* best_cost) const {
    int64_t cost = objective(trial);
    if (cost >= *best_cost) return false;
    *best_cost = cost;
    *best = std::move(trial);
    return true;
  }

  bool add_best(std::vector<int32_t>* chosen, int64_t* cost) const {
    std::vector<int32_t> best = *chosen;
    bool better = false;
    for (int32_t c : candidates_) {
      if (std::find(chosen->begin(), chosen->end(), c) != chosen->end()) continue;
      std::vector<int32_t> trial = *chosen;
      trial.push_back(c);
      better |= take_if_better(std::move(trial), &best, cost);
    }
    *chosen = std::move(best);
    return better;
  }

  // The best single removal, swap or addition, if any helps.
  bool improve(int max_size, std::vector<int32_t>* chosen, int64_t* cost) const {
    std::vector<int32_t> best = *chosen;
    bool better = false;
    for (int32_t out : *chosen) {
      std::vector<int32_t> rest = without(*chosen, out);
      better |= take_if_better(rest, &best, cost);
      for (int32_t in : candidates_) {
        if (std::find(chosen->begin(), chosen->end(), in) != chosen->end()) continue;
        std::vector<int32_t> trial = rest;
        trial.push_back(in);
        better |= take_if_better(std::move(trial), &best, cost);
      }
    }
    *chosen = std::move(best);
    if (static_cast<int>(chosen->size()) < max_size) better |= add_best(chosen, cost);
    return better;
  }

  int32_t generic_;
  size_t num_shapes_;
  int64_t price_ = 0;
  std::vector<int64_t> weights_;
  std::vector<std::vector<int64_t>> columns_;
  std::vector<int32_t> candidates_;
};

// Number of subsets of at most k of n, or more than the limit.
int64_t count_subsets(int64_t n, int64_t k) {
  int64_t total = 0, binomial = 1;
  for (int64_t i = 1; i <= std::min(n, k) && total <= kMaxExactSubsets; ++i) {
    binomial = binomial * (n - i + 1) / i;
    total += binomial;
  }
  return total;
}

}  // namespace

std::vector<int32_t> choose_subset(const Table& table, const CostTable& costs, const std::vector<int>& shapes,
                                   const std::vector<PredictedShape>& predicted, const CostModel& model,
                                   const SubsetOptions& options) {
  SubsetProblem problem(table, costs, shapes, options.variant_price_micro);
  problem.add_predicted(table, costs, predicted, model);
  const int max_size = std::min(options.max_variants, kMaxKept) - 1;
  const int64_t n = static_cast<int64_t>(problem.candidates().size());
  std::vector<int32_t> chosen =
      count_subsets(n, max_size) <= kMaxExactSubsets ? problem.exact(max_size) : problem.greedy(max_size);
  problem.sort_by_use(&chosen);
  chosen.push_back(table.generic_config);
  return chosen;
}

int32_t best_single_config(const Table& table, const CostTable& costs, const std::vector<int>& shapes) {
  SubsetProblem problem(table, costs, shapes, 0);
  int32_t best = table.generic_config;
  int64_t best_cost = problem.objective({});
  for (int32_t c : problem.candidates()) {
    int64_t cost = problem.objective({c});
    if (cost < best_cost) {
      best_cost = cost;
      best = c;
    }
  }
  return best;
}

}  // namespace kaon::heuristics
