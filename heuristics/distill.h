// The facade: measurements in; variants kept, tree, evidence and the integer training table out.
//
//   Measurements -> make_training() -> TrainingSet -> fit() -> Distilled      (distill() does both)
//
// Both steps are pure functions, byte-deterministic across runs and thread counts. Held-out cells reach only the
// scores, never a choice.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heuristics/evaluate.h"
#include "heuristics/features.h"
#include "heuristics/table.h"
#include "heuristics/training.h"
#include "runtime/base/tree.h"

namespace kaon::heuristics {

enum class TeacherMode : uint8_t {
  kAuto,  // used where cross-validation over fitted shapes says that it helps
  kOn,
  kOff,
};

struct DistillOptions {
  int max_variants = 8;  // per table, the generic variant included
  int max_leaves = 24;
  int min_leaf_shapes = 3;         // measured shapes in a leaf, at least
  double worst_regret = 1.12;      // slowdown beyond which a shape is "badly served" and weighs extra
  double variant_gain = 0.0005;    // a further variant must lower the mean log regret by this much, and by a fifth of
                                   // the noise floor
  double predicted_share = 0.35;   // total weight of predicted shapes, relative to the measured ones
  int predicted_per_measured = 3;  // how much denser the teacher's grid is
  int folds = 5;                   // of cross-validation over measured shapes
  uint64_t seed = 20;              // of folds, grid and teacher
  TeacherMode teacher = TeacherMode::kAuto;
};

/// What stands behind one kept variant.
struct VariantEvidence {
  int32_t config = 0;           // index into Table::configs
  int32_t shapes_served = 0;    // fitted shapes that the tree sends to it
  int32_t shapes_best = 0;      // fitted shapes where it is the fastest, or ties with it
  int32_t shapes_measured = 0;  // fitted shapes where it was timed and right
  double geomean_slowdown = 0;  // over the shapes served, against the fastest; 1 when it serves none
  double worst_slowdown = 0;
};

struct DistilledTable {
  std::string dtypes;                     // Table::key()
  int table = 0;                          // index into Measurements::tables
  int first_variant = 0;                  // number in the pack of variants[0]: a binding's tables become one there
  DecisionTree tree;                      // leaves hold indices into `variants`
  std::vector<VariantEvidence> variants;  // in the pack's order; the generic variant is last
  std::vector<PrunedFeature> pruned;
  bool with_teacher = false;
  std::string teacher_note;

  // Shares of the oracle. [0] fitted shapes, [1] held-out shapes.
  Score tree_score[2];
  Score subset_score[2];  // the best kept variant per shape: what a perfect tree would reach
  Score single_score[2];  // the one config that is best over the fitted shapes
  Score default_score[2];
  Score without_teacher_score[2];  // the ablation: the same fit without, and with, predicted shapes
  Score with_teacher_score[2];
  Flips flips[2];
  int32_t single_config = 0;
};

struct Distilled {
  std::string kernel;
  TrainingSet training;
  std::vector<DistilledTable> tables;
};

/// Chooses variants, trains the teacher, cross-validates. kInvalidArgument when a table cannot be distilled (no
/// fitted shape with a measured config, a generic config never measured right), with the numbers.
Result<TrainingSet> make_training(const Measurements& measurements, const DistillOptions& options);

/// Fits the trees from measured and predicted cells and scores them; never calls XGBoost. kStale when `training` was
/// made from other fitted measurements (pass 0 of shapes that are not held out).
Result<Distilled> fit(const Measurements& measurements, const TrainingSet& training, const DistillOptions& options);

/// make_training(), then fit().
Result<Distilled> distill(const Measurements& measurements, const DistillOptions& options = {});

/// Index into Table::configs of what serves `slots`: the first variant of the leaf whose guards hold.
int chosen_config(const DistilledTable& distilled, const Table& table, const int64_t* slots);

}  // namespace kaon::heuristics
