// The teacher: a gradient-boosted ensemble (XGBoost) that learns slowdowns from measured cells, and predicts them on
// shapes that nobody measured.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "heuristics/features.h"
#include "heuristics/samples.h"
#include "heuristics/training.h"

namespace kaon::heuristics {

/// Learns the log of time over the shape's fastest time: the part of log time in which configs differ, free of the
/// growth with size that trees are bad at. Single-threaded and seeded: the same input gives the same predictions with
/// the same XGBoost.
class Teacher {
 public:
  /// Trains on the measured cells of `shapes`. kInternal with XGBoost's own message. `device` and `table` must
  /// outlive the teacher.
  static Result<Teacher> train(const DeviceFacts& device, const Table& table, const CostTable& costs,
                               const std::vector<int>& shapes, uint64_t seed);
  Teacher(Teacher&&) noexcept;
  Teacher& operator=(Teacher&&) noexcept;
  ~Teacher();

  /// Slowdowns of the kept configs against the fastest of them, for each row of slots; weights are left 0.
  Result<std::vector<PredictedShape>> predict(const std::vector<std::vector<int64_t>>& shapes,
                                              const std::vector<int32_t>& kept) const;

 private:
  struct Model;
  explicit Teacher(std::unique_ptr<Model> model);
  std::unique_ptr<Model> model_;
};

/// Shapes between the measured ones of `shapes`, `count` in all: one takes a measured shape and moves some of its
/// sizes log-uniformly towards the next size that was measured; sizes that the whole sweep shares stay, sizes keep the
/// granularity of the sweep three times in four and are odd otherwise. None equals a measured shape, all satisfy the
/// signature's requires. Deterministic for a seed.
std::vector<std::vector<int64_t>> denser_grid(const Table& table, const std::vector<int>& shapes, int count,
                                              uint64_t seed);

}  // namespace kaon::heuristics
