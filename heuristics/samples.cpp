// Slowdowns of cells, and their conversion to integer costs.
#include "heuristics/samples.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "heuristics/features.h"
#include "runtime/base/guards.h"

namespace kaon::heuristics {
namespace {

constexpr double kExcessWeight = 4;          // of the part of a log slowdown beyond the worst tolerated one
constexpr double kUnmeasuredSlowdown = 1.5;  // at least

std::vector<int64_t> feature_values(const std::vector<TreeFeature>& features, const std::vector<int64_t>& slots) {
  std::vector<int64_t> values;
  for (const TreeFeature& feature : features) values.push_back(feature.value.evaluate(slots.data()));
  return values;
}

uint32_t refusal_mask(const Table& table, const std::vector<int32_t>& kept, const std::vector<int64_t>& slots) {
  uint32_t mask = 0;
  for (size_t v = 0; v < kept.size(); ++v) {
    const std::vector<Guard>& guards = table.configs[kept[v]].variant.guards;
    if (first_refusing(table.signature, guards, slots.data()) >= 0) mask |= 1u << v;
  }
  return mask;
}

CellState cell_state(const Table& table, int config, int shape) {
  const std::vector<Guard>& guards = table.configs[config].variant.guards;
  if (first_refusing(table.signature, guards, table.shapes[shape].slots.data()) >= 0) return CellState::kRefused;
  for (int pass = 0; pass < table.num_passes(); ++pass) {
    if (table.cell(pass, config, shape).failed()) return CellState::kFailed;
  }
  return table.cell(0, config, shape).measured() ? CellState::kMeasured : CellState::kUnmeasured;
}

double reference_time(const std::vector<double>& times, const CostModel& model) {
  const double limit =
      *std::min_element(times.begin(), times.end()) * model.near_tie(*std::min_element(times.begin(), times.end()));
  double sum = 0;
  int count = 0;
  for (double time : times) {
    if (time > limit) continue;
    sum += time;
    ++count;
  }
  return sum / count;
}

// Whether a call of the sizes in `large` does everything that one of the sizes in `small` does, and more.
bool covers(const std::vector<int>& sizes, const std::vector<int64_t>& large, const std::vector<int64_t>& small) {
  return std::all_of(sizes.begin(), sizes.end(), [&](int slot) { return large[slot] >= small[slot]; });
}

}  // namespace

double CostModel::noise(double time_ns) const {
  const double share = noise_floor_permille / 1000.0;
  return time_ns > 0 ? std::max(share, static_cast<double>(noise_floor_ns) / time_ns) : share;
}

int64_t CostModel::cost_micro(double slowdown, double reference_ns) const {
  const double regret = std::log(std::max(slowdown, 1.0)) - std::log1p(noise(reference_ns));
  if (regret <= 0) return 0;
  const double excess = std::max(0.0, std::log(std::max(slowdown, 1.0)) - std::log(worst_regret));
  return std::llround(1e6 * (regret + kExcessWeight * excess));
}

CostTable::CostTable(const Table& table, const CostModel& model)
    : num_shapes_(table.num_shapes()), num_configs_(table.num_configs()) {
  const size_t cells = static_cast<size_t>(num_shapes_) * num_configs_;
  states_.assign(cells, CellState::kUnmeasured);
  slowdowns_.assign(cells, 0);
  costs_.assign(cells, 0);
  usable_.assign(num_shapes_, 0);
  references_.assign(num_shapes_, 0);
  for (int s = 0; s < num_shapes_; ++s) fill_shape(table, s, model);
  for (int s = 0; s < num_shapes_; ++s) bound_unmeasured(table, s, model);
}

void CostTable::fill_shape(const Table& table, int shape, const CostModel& model) {
  std::vector<double> times;
  for (int c = 0; c < num_configs_; ++c) {
    CellState state = cell_state(table, c, shape);
    states_[index(shape, c)] = state;
    if (state == CellState::kMeasured) times.push_back(static_cast<double>(table.cell(0, c, shape).median_ns));
  }
  usable_[shape] = !times.empty();
  const double reference = usable_[shape] ? reference_time(times, model) : 0;
  references_[shape] = reference;
  int64_t worst = model.cost_micro(kUnmeasuredSlowdown, reference);
  for (int c = 0; c < num_configs_; ++c) {
    if (state(shape, c) != CellState::kMeasured) continue;
    slowdowns_[index(shape, c)] = static_cast<double>(table.cell(0, c, shape).median_ns) / reference;
    costs_[index(shape, c)] = model.cost_micro(slowdown(shape, c), reference);
    worst = std::max(worst, cost_micro(shape, c));
  }
  for (int c = 0; c < num_configs_; ++c) {
    if (state(shape, c) == CellState::kUnmeasured) costs_[index(shape, c)] = worst;
    if (state(shape, c) == CellState::kFailed) costs_[index(shape, c)] = kFailedMicro;
  }
}

void CostTable::bound_unmeasured(const Table& table, int shape, const CostModel& model) {
  if (!usable_[shape]) return;
  const std::vector<int> sizes = size_slots(table.signature);
  for (int c = 0; c < num_configs_; ++c) {
    if (state(shape, c) != CellState::kUnmeasured) continue;
    int64_t bound = std::numeric_limits<int64_t>::max();
    for (int s = 0; s < num_shapes_; ++s) {
      if (state(s, c) != CellState::kMeasured || table.shapes[s].role == Role::kHeldOut) continue;
      if (!covers(sizes, table.shapes[s].slots, table.shapes[shape].slots)) continue;
      bound = std::min(bound, table.cell(0, c, s).median_ns);
    }
    if (bound == std::numeric_limits<int64_t>::max()) continue;
    const double slowdown = static_cast<double>(bound) / references_[shape];
    costs_[index(shape, c)] = std::min(cost_micro(shape, c), model.cost_micro(slowdown, references_[shape]));
  }
}

double CostTable::reference_near(const Table& table, const std::vector<int64_t>& slots) const {
  double nearest = std::numeric_limits<double>::infinity(), reference = 0;
  for (int s = 0; s < num_shapes_; ++s) {
    if (!usable_[s]) continue;
    double distance = 0;
    for (size_t d = 0; d < table.signature.dims.size(); ++d) {
      const int slot = table.signature.dim_slot(static_cast<int>(d));
      const auto log_size = [&](int64_t size) { return std::log2(static_cast<double>(std::max<int64_t>(size, 1))); };
      distance += std::pow(log_size(slots[slot]) - log_size(table.shapes[s].slots[slot]), 2);
    }
    if (distance >= nearest) continue;
    nearest = distance;
    reference = references_[s];
  }
  return reference;
}

std::vector<int> fitted_shapes(const Table& table, const CostTable& costs) {
  std::vector<int> shapes;
  for (int s = 0; s < table.num_shapes(); ++s) {
    if (table.shapes[s].role != Role::kHeldOut && costs.usable(s)) shapes.push_back(s);
  }
  return shapes;
}

std::vector<Sample> measured_samples(const Table& table, const CostTable& costs, const std::vector<int>& shapes,
                                     const std::vector<int32_t>& kept, const std::vector<TreeFeature>& features) {
  double total = 0;
  for (int s : shapes) total += table.shapes[s].weight;
  std::vector<Sample> samples;
  for (int s : shapes) {
    Sample sample;
    sample.shape = s;
    const double relative = table.shapes[s].weight * static_cast<double>(shapes.size()) / total;
    sample.weight_permille = std::max<int64_t>(1, std::llround(1000 * relative));
    sample.refused = refusal_mask(table, kept, table.shapes[s].slots);
    sample.features = feature_values(features, table.shapes[s].slots);
    for (int32_t config : kept) {
      sample.cost_micro.push_back(costs.cost_micro(s, config));
      sample.states.push_back(costs.state(s, config));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<Sample> predicted_samples(const Table& table, const CostTable& costs,
                                      const std::vector<PredictedShape>& predicted, const std::vector<int32_t>& kept,
                                      const std::vector<TreeFeature>& features, const CostModel& model) {
  std::vector<Sample> samples;
  for (const PredictedShape& shape : predicted) {
    Sample sample;
    sample.weight_permille = shape.weight_permille;
    sample.refused = refusal_mask(table, kept, shape.slots);
    sample.features = feature_values(features, shape.slots);
    const double reference = costs.reference_near(table, shape.slots);
    for (size_t v = 0; v < kept.size(); ++v) {
      const double slowdown = static_cast<double>(shape.slowdown_permille[v]) / 1000;
      sample.cost_micro.push_back(slowdown > 0 ? model.cost_micro(slowdown, reference) : 0);
      sample.states.push_back(sample.refused >> v & 1 ? CellState::kRefused : CellState::kUnmeasured);
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<PredictedShape> restricted(const std::vector<PredictedShape>& all, const std::vector<int32_t>& kept) {
  std::vector<PredictedShape> result;
  for (const PredictedShape& shape : all) {
    PredictedShape narrow{shape.slots, shape.weight_permille, {}};
    for (int32_t config : kept) narrow.slowdown_permille.push_back(shape.slowdown_permille[config]);
    result.push_back(std::move(narrow));
  }
  return result;
}

}  // namespace kaon::heuristics
