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
  std::vector<int> shapes;  // fitted and usable
  Vocabulary vocabulary;

  /// Trains a teacher on `train` and predicts every config on a denser grid around those shapes.
  Result<std::vector<PredictedShape>> predict_around(const std::vector<int>& train) const;
  /// The configs to keep for `train` and, where given, predictions of every config.
  std::vector<int32_t> choose_kept(const std::vector<int>& train, const std::vector<PredictedShape>& predicted) const;
  /// Grows a tree over `kept` on measured shapes and, where given, predictions of `kept`. Thresholds prefer
  /// landmarks.
  GrownTree grow_on(const std::vector<int>& train, const std::vector<PredictedShape>& predicted,
                    const std::vector<int32_t>& kept) const;

 private:
  GrowOptions grow_options(size_t num_shapes, const std::vector<int32_t>& kept) const;
};

struct Validation {
  int64_t price_micro = 0;      // the largest price that is as good as the best, within half a standard error
  int64_t mean_cost_micro = 0;  // of left-out shapes at that price
};

/// k-fold cross-validation over measured shapes, the teacher retrained and the variants chosen anew in each fold. Fewer
/// than four shapes validate nothing: a fixed price and a cost of 0 come back.
Result<Validation> cross_validate(const FitProblem& problem, bool with_teacher);

}  // namespace kaon::heuristics
