// The measured and predicted shapes as rows of a cover, the configs as its columns.
#include "heuristics/subset.h"

#include <algorithm>
#include <cmath>

#include "heuristics/cover.h"

namespace kaon::heuristics {
namespace {

Cover make_cover(const Table& table, const CostTable& costs, const std::vector<int>& shapes,
                 const std::vector<PredictedShape>& predicted, const CostModel& model, int64_t price_micro) {
  std::vector<int64_t> weights;
  double total = 0;
  for (int s : shapes) total += table.shapes[s].weight;
  int64_t price = 0;
  for (int s : shapes) {
    const double relative = table.shapes[s].weight * static_cast<double>(shapes.size()) / total;
    weights.push_back(std::max<int64_t>(1, std::llround(1000 * relative)));
    price += price_micro * weights.back();
  }
  std::vector<std::vector<int64_t>> columns(static_cast<size_t>(table.num_configs()));
  std::vector<int32_t> candidates;
  for (int c = 0; c < table.num_configs(); ++c) {
    bool useful = false;
    for (int s : shapes) {
      const CellState state = costs.state(s, c);
      useful |= state == CellState::kMeasured;
      const bool serves = state == CellState::kMeasured || state == CellState::kUnmeasured;
      columns[c].push_back(serves ? costs.cost_micro(s, c) : CostTable::kFailedMicro);
    }
    if (useful && c != table.generic_config) candidates.push_back(c);
  }
  // Predicted shapes change neither the candidates nor the total price.
  for (const PredictedShape& shape : predicted) {
    weights.push_back(shape.weight_permille);
    const double reference = costs.reference_near(table, shape.slots);
    for (size_t c = 0; c < columns.size(); ++c) {
      const double slowdown = static_cast<double>(shape.slowdown_permille[c]) / 1000;
      columns[c].push_back(slowdown > 0 ? model.cost_micro(slowdown, reference) : CostTable::kFailedMicro);
    }
  }
  return Cover(std::move(columns), std::move(weights), table.generic_config, std::move(candidates), price);
}

}  // namespace

std::vector<int32_t> choose_subset(const Table& table, const CostTable& costs, const std::vector<int>& shapes,
                                   const std::vector<PredictedShape>& predicted, const CostModel& model,
                                   const SubsetOptions& options) {
  const Cover cover = make_cover(table, costs, shapes, predicted, model, options.variant_price_micro);
  std::vector<int32_t> chosen = cover.best(std::min(options.max_variants, kMaxKept) - 1);
  cover.sort_by_use(&chosen);
  chosen.push_back(table.generic_config);
  return chosen;
}

int32_t best_single_config(const Table& table, const CostTable& costs, const std::vector<int>& shapes) {
  const Cover cover = make_cover(table, costs, shapes, {}, {}, 0);
  int32_t best = table.generic_config;
  int64_t best_cost = cover.objective({});
  for (int32_t c : cover.candidates()) {
    const int64_t cost = cover.objective({c});
    if (cost < best_cost) {
      best_cost = cost;
      best = c;
    }
  }
  return best;
}

}  // namespace kaon::heuristics
