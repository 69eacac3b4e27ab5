// What a search knows: outcomes by config and shape, best times, money spent, and which few configs cover all shapes.
#pragma once

#include <map>
#include <vector>

#include "aot_runner/spec/shape.h"
#include "runtime/base/config.h"

namespace kaon::runner {

struct Outcome {
  enum class Kind : uint8_t {
    kUnknown,   // not asked yet
    kTimed,
    kExcluded,  // a guard refuses the shape: expected
    kFailed,    // did not compile, was wrong, crashed or timed out
  };
  Kind kind = Kind::kUnknown;
  double time_us = 0;
  double cost_seconds = 0;  // what it took to learn this, as stored; a search's clock
};

/// Configs times shapes. Iteration order is the order of Config, never of a hash.
class Observations {
 public:
  explicit Observations(const std::vector<WeightedShape>& shapes);

  void add(const Config& config, int shape, const Outcome& outcome);
  const Outcome& at(const Config& config, int shape) const;
  bool knows(const Config& config) const { return rows_.count(config) > 0; }
  /// Asked, and timed nowhere.
  bool failed_everywhere(const Config& config) const;
  const std::map<Config, std::vector<Outcome>>& rows() const { return rows_; }
  const std::vector<WeightedShape>& shapes() const { return shapes_; }

  /// Fastest time on a shape, infinity when nothing was timed.
  double best_us(int shape) const { return best_[static_cast<size_t>(shape)]; }
  double spent_seconds() const { return spent_; }
  /// Mean cost of a cell that was run, or `fallback` before any was.
  double mean_cell_seconds(double fallback) const;
  /// Configs timed on `shape`, fastest first, at most `count`.
  std::vector<Config> fastest(int shape, size_t count) const;
  /// Up to `count` configs: first those that together lose least against the best of each shape in `among`
  /// (greedy, weighted log regret), then those that are near the best most often. `always` come first in any case.
  std::vector<Config> cover(const std::vector<int>& among, size_t count, const std::vector<Config>& always) const;

 private:
  double loss(const std::vector<double>& served, const std::vector<int>& among) const;

  std::vector<WeightedShape> shapes_;
  std::map<Config, std::vector<Outcome>> rows_;
  std::vector<double> best_;
  double spent_ = 0;
  double cell_seconds_ = 0;
  int cells_ = 0;
};

}  // namespace kaon::runner
