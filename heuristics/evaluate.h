// How good a choice is: the share of the oracle's speed that it reaches, geometric mean and worst shape.
//
// The oracle of a shape is its fastest measured config. Where two passes exist its winner is picked on pass 0 and
// timed on the last pass, as is every rival, because the minimum of many noisy times is too good to be true.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heuristics/samples.h"
#include "heuristics/table.h"

namespace kaon::heuristics {

struct Score {
  int32_t shapes = 0;    // that could be scored
  int32_t unscored = 0;  // no config measured, or the chosen one was not
  double geomean = 0;    // weighted geometric mean of oracle time / chosen time; 0 when no shape was scored
  double worst = 0;
  int32_t worst_shape = -1;  // index into Table::shapes
};

/// Which shapes to score.
enum class Scope : uint8_t { kFitted, kHeldOut };  // train and measure, or held_out
bool in_scope(Scope scope, Role role);

/// The config that serves a shape, or -1 for none.
using Chooser = std::function<int(int shape)>;

/// Scores `choose` over the shapes in scope.
Score score(const Table& table, Scope scope, const Chooser& choose);

/// The fastest measured config of a shape in pass 0 whose guards hold, lowest index on ties; -1 when none.
/// `among` restricts the choice to those configs; empty for all.
int oracle_config(const Table& table, int shape, const std::vector<int32_t>& among = {});

struct Flips {
  int32_t shapes = 0;        // measured in at least two passes
  int32_t any = 0;           // the winner differs between the first and the last pass
  int32_t beyond_noise = 0;  // and the first pass's winner lost by more than the noise floor on the last
};
Flips count_flips(const Table& table, Scope scope, const CostModel& noise);

}  // namespace kaon::heuristics
