// How long each of several replays takes: interleaved rounds until the medians are known well enough.
#pragma once

#include <vector>

#include "aot_runner/measure/device.h"
#include "aot_runner/measure/protocol.h"
#include "runtime/base/status.h"

namespace kaon::runner {

struct Contestant {
  Replay* replay = nullptr;
  /// Yardsticks are refined whatever they cost, and do not count as the best.
  bool is_yardstick = false;
};

struct RoundsResult {
  std::vector<Timing> timings;  // in the order of the contestants; `bytes` is left 0
  double seconds = 0;
  int rounds = 0;
};

/// One untimed round, then `first_samples` rounds of everybody, then rounds of those near the best whose median is not
/// yet known to `target_mad`, each round starting with another contestant. Stops at `max_seconds` or `max_samples`.
Result<RoundsResult> time_in_rounds(Device& device, const std::vector<Contestant>& contestants,
                                    const MeasureOptions& options);

}  // namespace kaon::runner
