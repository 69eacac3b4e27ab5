// Exact search over small problems; iterated local search over large ones.
#include "heuristics/cover.h"

#include <algorithm>

#include "heuristics/random.h"

namespace kaon::heuristics {
namespace {

constexpr int64_t kMaxExactSubsets = 20'000;
constexpr int kKicks = 40;
constexpr uint64_t kKickedMembers = 3;  // at most
constexpr uint64_t kSeed = 8;

// Number of subsets of at most k of n, or more than the limit.
int64_t count_subsets(int64_t n, int64_t k) {
  int64_t total = 0, binomial = 1;
  for (int64_t i = 1; i <= std::min(n, k) && total <= kMaxExactSubsets; ++i) {
    binomial = binomial * (n - i + 1) / i;
    total += binomial;
  }
  return total;
}

bool is_in(const std::vector<int32_t>& chosen, int32_t column) {
  return std::find(chosen.begin(), chosen.end(), column) != chosen.end();
}

std::vector<int32_t> without(std::vector<int32_t> chosen, int32_t column) {
  chosen.erase(std::find(chosen.begin(), chosen.end(), column));
  return chosen;
}

// Some members left out and others put in their place.
std::vector<int32_t> kicked(std::vector<int32_t> chosen, const std::vector<int32_t>& candidates, int max_size,
                            Random* random) {
  const size_t out = 1 + random->below(kKickedMembers);
  for (size_t i = 0; i < out && !chosen.empty(); ++i) {
    chosen.erase(chosen.begin() + static_cast<std::ptrdiff_t>(random->below(chosen.size())));
  }
  for (size_t i = 0; i < out && static_cast<int>(chosen.size()) < max_size; ++i) {
    const int32_t in = candidates[random->below(candidates.size())];
    if (!is_in(chosen, in)) chosen.push_back(in);
  }
  return chosen;
}

}  // namespace

Cover::Cover(std::vector<std::vector<int64_t>> columns, std::vector<int64_t> weights, int32_t base,
             std::vector<int32_t> candidates, int64_t price)
    : columns_(std::move(columns)),
      weights_(std::move(weights)),
      base_(base),
      candidates_(std::move(candidates)),
      price_(price) {}

int64_t Cover::objective(const std::vector<int32_t>& chosen) const {
  int64_t total = price_ * static_cast<int64_t>(chosen.size());
  const std::vector<int64_t> served = served_by(chosen);
  for (size_t i = 0; i < weights_.size(); ++i) total += served[i] * weights_[i];
  return total;
}

std::vector<int32_t> Cover::best(int max_size) const {
  const bool is_small = count_subsets(static_cast<int64_t>(candidates_.size()), max_size) <= kMaxExactSubsets;
  return is_small ? exact(max_size) : search(max_size);
}

void Cover::sort_by_use(std::vector<int32_t>* chosen) const {
  std::vector<std::pair<int64_t, int32_t>> order;
  for (int32_t c : *chosen) order.push_back({-objective(without(*chosen, c)), c});
  std::sort(order.begin(), order.end());
  for (size_t i = 0; i < order.size(); ++i) (*chosen)[i] = order[i].second;
}

std::vector<int32_t> Cover::exact(int max_size) const {
  std::vector<int32_t> best, current;
  int64_t best_cost = objective({});
  enumerate(0, max_size, &current, &best, &best_cost);
  return best;
}

void Cover::enumerate(size_t from, int left, std::vector<int32_t>* current, std::vector<int32_t>* best,
                      int64_t* best_cost) const {
  if (left == 0) return;
  for (size_t i = from; i < candidates_.size(); ++i) {
    current->push_back(candidates_[i]);
    const int64_t cost = objective(*current);
    if (cost < *best_cost) {
      *best_cost = cost;
      *best = *current;
    }
    enumerate(i + 1, left - 1, current, best, best_cost);
    current->pop_back();
  }
}

// From the greedy choice, and again and again from the best set with a few members exchanged at random: greedy alone
// gets stuck, because the first member that it takes is good everywhere and best nowhere.
std::vector<int32_t> Cover::search(int max_size) const {
  std::vector<int32_t> best;
  int64_t best_cost = descend(max_size, &best);
  Random random(kSeed);
  for (int kick = 0; kick < kKicks; ++kick) {
    std::vector<int32_t> trial = kicked(best, candidates_, max_size, &random);
    const int64_t cost = descend(max_size, &trial);
    if (cost >= best_cost) continue;
    best_cost = cost;
    best = std::move(trial);
  }
  return best;
}

std::vector<int64_t> Cover::served_by(const std::vector<int32_t>& chosen) const {
  std::vector<int64_t> served = columns_[static_cast<size_t>(base_)];
  for (int32_t c : chosen) {
    const std::vector<int64_t>& column = columns_[static_cast<size_t>(c)];
    for (size_t i = 0; i < served.size(); ++i) served[i] = std::min(served[i], column[i]);
  }
  return served;
}

// Given up once it exceeds the limit.
int64_t Cover::cost_with(const std::vector<int64_t>& served, int32_t column, int64_t so_far, int64_t limit) const {
  const std::vector<int64_t>& costs = columns_[static_cast<size_t>(column)];
  for (size_t i = 0; i < served.size() && so_far < limit; ++i) so_far += std::min(served[i], costs[i]) * weights_[i];
  return so_far;
}

// Replaces `chosen` by the best of its single removals, swaps and additions while any lowers the cost.
int64_t Cover::descend(int max_size, std::vector<int32_t>* chosen) const {
  int64_t cost = objective(*chosen);
  while (step(max_size, chosen, &cost)) {
  }
  std::sort(chosen->begin(), chosen->end());
  return cost;
}

bool Cover::step(int max_size, std::vector<int32_t>* chosen, int64_t* cost) const {
  std::vector<int32_t> best;
  const int64_t before = *cost;
  const auto add_best = [&](const std::vector<int32_t>& rest) {
    const std::vector<int64_t> served = served_by(rest);
    for (int32_t in : candidates_) {
      if (is_in(*chosen, in)) continue;
      const int64_t with = cost_with(served, in, price_ * static_cast<int64_t>(rest.size() + 1), *cost);
      if (with >= *cost) continue;
      *cost = with;
      best = rest;
      best.push_back(in);
    }
  };
  for (int32_t out : *chosen) {
    const std::vector<int32_t> rest = without(*chosen, out);
    if (const int64_t alone = objective(rest); alone < *cost) {
      *cost = alone;
      best = rest;
    }
    add_best(rest);
  }
  if (static_cast<int>(chosen->size()) < max_size) add_best(*chosen);
  if (*cost < before) *chosen = std::move(best);
  return *cost < before;
}

}  // namespace kaon::heuristics
