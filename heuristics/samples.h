// Regret as integers: what serving a shape with a variant costs, and the rows that subset and tree are fitted to.
//
// The cost of a config on a shape is the logarithm of its slowdown against the shape's reference time, in millionths,
// less the noise floor (the larger of a share and a time) and never below zero: choices inside the noise are equal. The reference is the mean of the
// fastest config and those that nearly tie with it, because the minimum of many noisy times is too good to be true.
// Beyond the worst tolerated slowdown the excess counts five times, so that a bad worst case cannot hide in a mean.
#pragma once

#include <cstdint>
#include <vector>

#include "heuristics/table.h"
#include "heuristics/training.h"
#include "runtime/base/tree.h"

namespace kaon::heuristics {

enum class CellState : uint8_t { kMeasured, kUnmeasured, kRefused, kFailed };

struct CostModel {
  int32_t noise_floor_permille = 0;
  int64_t noise_floor_ns = 0;
  double worst_regret = 1.12;

  /// The share of a time within which others tie with it.
  double noise(double time_ns) const;
  /// Millionths; against a reference time of `reference_ns`.
  int64_t cost_micro(double slowdown, double reference_ns) const;
  /// Times up to this multiple of the fastest belong to the reference.
  double near_tie(double fastest_ns) const { return 1 + 1.5 * noise(fastest_ns); }
};

/// Of one table: state and cost of each (shape, config). Times are those of pass 0, since later passes judge what was
/// chosen on it; a cell that failed in any pass is failed.
class CostTable {
 public:
  CostTable(const Table& table, const CostModel& model);

  int num_shapes() const { return num_shapes_; }
  int num_configs() const { return num_configs_; }
  CellState state(int shape, int config) const { return states_[index(shape, config)]; }
  /// Time over the shape's reference, so slightly below 1 for the fastest of several twins; 0 unless measured.
  double slowdown(int shape, int config) const { return slowdowns_[index(shape, config)]; }
  /// Measured cells: as CostModel says. Failed: kFailedMicro. Refused: 0 and meaningless. Unmeasured: at most what the
  /// config took on a fitted shape that is no smaller in any size, since less work takes no longer; where no such time
  /// is known, or it tells nothing, the shape's worst measured cost, at least that of a slowdown of 1.5.
  int64_t cost_micro(int shape, int config) const { return costs_[index(shape, config)]; }
  /// Reference time of the usable shape whose dims are nearest in their logarithms; 0 when no shape is usable.
  double reference_near(const Table& table, const std::vector<int64_t>& slots) const;
  /// Whether any config was measured on the shape.
  bool usable(int shape) const { return usable_[shape]; }

  static constexpr int64_t kFailedMicro = 3'000'000;

 private:
  size_t index(int shape, int config) const { return static_cast<size_t>(shape) * num_configs_ + config; }
  void fill_shape(const Table& table, int shape, const CostModel& model);
  void bound_unmeasured(const Table& table, int shape, const CostModel& model);

  int num_shapes_, num_configs_;
  std::vector<CellState> states_;
  std::vector<double> slowdowns_;
  std::vector<int64_t> costs_;
  std::vector<char> usable_;
  std::vector<double> references_;  // ns; 0 for unusable shapes
};

constexpr int kMaxKept = 32;

/// One shape as the tree sees it. Costs and states are per kept variant, in the order of TrainingTable::kept.
struct Sample {
  int shape = -1;                 // index into Table::shapes, or -1 for a predicted one
  int64_t weight_permille = 0;    // relative to the mean measured shape
  uint32_t refused = 0;           // bit v: the guards of kept variant v refuse
  std::vector<int64_t> features;  // values of the vocabulary
  std::vector<int64_t> cost_micro;
  std::vector<CellState> states;
};

/// Indices of the fitted (not held-out) shapes with a measured cell, ascending.
std::vector<int> fitted_shapes(const Table& table, const CostTable& costs);

/// Samples of those measured shapes.
std::vector<Sample> measured_samples(const Table& table, const CostTable& costs, const std::vector<int>& shapes,
                                     const std::vector<int32_t>& kept, const std::vector<TreeFeature>& features);
/// Samples of predicted shapes.
std::vector<Sample> predicted_samples(const Table& table, const CostTable& costs,
                                      const std::vector<PredictedShape>& predicted,
                                      const std::vector<int32_t>& kept, const std::vector<TreeFeature>& features,
                                      const CostModel& model);
/// The predictions of `kept` alone, from predictions of every config.
std::vector<PredictedShape> restricted(const std::vector<PredictedShape>& all, const std::vector<int32_t>& kept);

}  // namespace kaon::heuristics
