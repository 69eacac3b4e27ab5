// The integer training table: all that the final trees are fitted from, so that they can be remade byte for byte on a
// machine whose XGBoost predicts differently.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::heuristics {

/// What the teacher predicts on one shape between the measured ones.
struct PredictedShape {
  std::vector<int64_t> slots;
  int32_t weight_permille = 0;             // relative to the mean measured shape
  std::vector<int64_t> slowdown_permille;  // one per kept config, in the order of `kept`: time over that of the fastest
                                           // config; 0 where its guards refuse the shape
};

/// What was decided for one table before the tree is fitted.
struct TrainingTable {
  std::string dtypes;                     // Table::key()
  std::vector<int32_t> kept;              // indices into Table::configs, best first, the generic config last
  bool with_teacher = false;              // whether `predicted` takes part in the fit
  std::string teacher_note;               // why, in words and numbers
  int64_t price_with_micro = 0;           // what one more leaf must earn, in millionths of mean log regret,
  int64_t price_without_micro = 0;        // in the fit with predicted shapes, and without
  std::vector<PredictedShape> predicted;  // kept even where it takes no part: the ablation needs it
};

struct TrainingSet {
  std::string kernel;
  uint64_t measurements_hash = 0;  // FNV-1a of the measurements' canonical text without held-out cells
  std::vector<TrainingTable> tables;
};

/// Canonical text, one shape per line.
std::string write_training(const TrainingSet& training);
/// kInvalidArgument with place and what was expected.
Result<TrainingSet> read_training(std::string_view text, const std::string& name);

}  // namespace kaon::heuristics
