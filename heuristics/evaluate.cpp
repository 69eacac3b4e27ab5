// Scores over the last pass of choices made on the first.
#include "heuristics/evaluate.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/guards.h"

namespace kaon::heuristics {
namespace {

bool serves(const Table& table, int pass, int config, int shape) {
  const std::vector<int64_t>& slots = table.shapes[shape].slots;
  return table.cell(pass, config, shape).measured() &&
         first_refusing(table.signature, table.configs[config].variant.guards, slots.data()) < 0;
}

int fastest(const Table& table, int pass, int shape, const std::vector<int32_t>& among) {
  std::vector<int32_t> all = among;
  if (all.empty()) {
    all.resize(table.num_configs());
    std::iota(all.begin(), all.end(), 0);
  }
  int best = -1;
  for (int32_t c : all) {
    if (!serves(table, pass, c, shape)) continue;
    const int64_t time = table.cell(pass, c, shape).median_ns;
    const int64_t best_time = best < 0 ? 0 : table.cell(pass, best, shape).median_ns;
    if (best < 0 || time < best_time || (time == best_time && c < best)) best = c;
  }
  return best;
}

// The pass on which a comparison of these two configs is timed: the last where both were measured.
int timing_pass(const Table& table, int a, int b, int shape) {
  for (int pass = table.num_passes(); pass-- > 0;) {
    if (table.cell(pass, a, shape).measured() && table.cell(pass, b, shape).measured()) return pass;
  }
  return -1;
}

}  // namespace

bool in_scope(Scope scope, Role role) { return (scope == Scope::kHeldOut) == (role == Role::kHeldOut); }

int oracle_config(const Table& table, int shape, const std::vector<int32_t>& among) {
  return fastest(table, 0, shape, among);
}

Score score(const Table& table, Scope scope, const Chooser& choose) {
  Score result;
  double log_sum = 0, weight_sum = 0;
  for (int s = 0; s < table.num_shapes(); ++s) {
    if (!in_scope(scope, table.shapes[s].role)) continue;
    const int oracle = oracle_config(table, s);
    const int chosen = choose(s);
    const int pass = oracle < 0 || chosen < 0 ? -1 : timing_pass(table, oracle, chosen, s);
    if (pass < 0) {
      ++result.unscored;
      continue;
    }
    const double share = static_cast<double>(table.cell(pass, oracle, s).median_ns) /
                         static_cast<double>(table.cell(pass, chosen, s).median_ns);
    if (result.shapes == 0 || share < result.worst) {
      result.worst = share;
      result.worst_shape = s;
    }
    log_sum += table.shapes[s].weight * std::log(share);
    weight_sum += table.shapes[s].weight;
    ++result.shapes;
  }
  if (result.shapes > 0) result.geomean = std::exp(log_sum / weight_sum);
  return result;
}

Flips count_flips(const Table& table, Scope scope, const CostModel& noise) {
  Flips flips;
  if (table.num_passes() < 2) return flips;
  const int last = table.num_passes() - 1;
  for (int s = 0; s < table.num_shapes(); ++s) {
    if (!in_scope(scope, table.shapes[s].role)) continue;
    // Only configs that both passes timed can be compared.
    std::vector<int32_t> both;
    for (int c = 0; c < table.num_configs(); ++c) {
      if (serves(table, 0, c, s) && serves(table, last, c, s)) both.push_back(c);
    }
    if (both.empty()) continue;
    ++flips.shapes;
    const int before = fastest(table, 0, s, both), after = fastest(table, last, s, both);
    if (before == after) continue;
    ++flips.any;
    const double loss = static_cast<double>(table.cell(last, before, s).median_ns) /
                        static_cast<double>(table.cell(last, after, s).median_ns);
    if (loss > 1 + noise.noise(static_cast<double>(table.cell(last, after, s).median_ns))) ++flips.beyond_noise;
  }
  return flips;
}

}  // namespace kaon::heuristics
