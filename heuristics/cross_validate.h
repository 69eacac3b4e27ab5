// What one more leaf must earn, and whether the teacher helps: decided on shapes left out of each fit.
#pragma once

#include <cstdint>
#include <vector>

#include "heuristics/distill.h"
#include "heuristics/fit_tree.h"
#include "heuristics/samples.h"

namespace kaon::heuristics {

/// All that fitting one table needs. Refers to `device` and `table`, which must outlive it.
struct FitProblem {
  FitProblem(const Measurements& fitted, const Table& table, const DistillOptions& options);

  const DeviceFacts& device;
  const Table& table;
  DistillOptions options;
  CostModel model;
  CostTable costs;
  std::vector<int> shapes;     // fitted and usable
  Vocabulary vocabulary;
  std::vector<int32_t> kept;   // filled by the caller

  /// Growth options for a fit to `num_shapes` measured shapes; thresholds prefer the capacities of kept configs.
  GrowOptions grow_options(size_t num_shapes) const;
  /// Trains a teacher on `train` and predicts a denser grid around those shapes.
  Result<std::vector<PredictedShape>> predict_around(const std::vector<int>& train) const;
  /// Grows a tree on measured shapes and, where given, predicted ones.
  GrownTree grow_on(const std::vector<int>& train, const std::vector<PredictedShape>& predicted) const;
};

struct Validation {
  int64_t price_micro = 0;      // the largest price that is as good as the best, within a quarter standard error
  int64_t mean_cost_micro = 0;  // of left-out shapes at that price
};

/// k-fold cross-validation over measured shapes, the teacher retrained per fold. Fewer than four shapes validate
/// nothing: a fixed price and a cost of 0 come back.
Result<Validation> cross_validate(const FitProblem& problem, bool with_teacher);

}  // namespace kaon::heuristics
