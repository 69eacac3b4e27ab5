// The two steps from measurements to trees.
#include "heuristics/distill.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "heuristics/cross_validate.h"
#include "heuristics/subset.h"
#include "heuristics/tree_passes.h"
#include "runtime/base/guards.h"

namespace kaon::heuristics {
namespace {

// The teacher must lower the cross-validated cost by this much to be used: an equal tree without it is simpler.
constexpr int64_t kTeacherGainMicro = 300;

// What a fit may see: shapes that are not held out, the cells of pass 0, failures of any pass.
Table fitted_view(const Table& full) {
  Table view = full;
  view.shapes.clear();
  view.passes.clear();
  std::vector<int> origin;
  for (int s = 0; s < full.num_shapes(); ++s) {
    if (full.shapes[s].role == Role::kHeldOut) continue;
    view.shapes.push_back(full.shapes[s]);
    origin.push_back(s);
  }
  view.add_pass();
  for (int c = 0; c < view.num_configs(); ++c) {
    for (int s = 0; s < view.num_shapes(); ++s) {
      Cell& cell = view.cell(0, c, s);
      for (int pass = full.num_passes(); pass-- > 0;) {
        const Cell& seen = full.cell(pass, c, origin[s]);
        if (pass == 0 || seen.failed()) cell = cell.failed() ? cell : seen;
      }
    }
  }
  return view;
}

Measurements fitted_view(const Measurements& full) {
  Measurements view = full;
  view.seconds = 0;
  for (Table& table : view.tables) table = fitted_view(table);
  return view;
}

uint64_t fnv1a(const std::string& text) {
  uint64_t hash = 0xcbf29ce484222325u;
  for (unsigned char c : text) hash = (hash ^ c) * 0x100000001b3u;
  return hash;
}

std::string micro_text(int64_t micro) {
  std::string digits = std::to_string(micro / 100);  // four decimals
  digits.insert(0, digits.size() < 5 ? 5 - digits.size() : 0, '0');
  return digits.substr(0, digits.size() - 4) + "." + digits.substr(digits.size() - 4);
}

Status check_fittable(const FitProblem& problem) {
  const Table& table = problem.table;
  const std::string where = "table \"" + table.key() + "\": ";
  if (problem.shapes.empty()) {
    return {Code::kInvalidArgument,
            where + "no config was measured on any of the " + std::to_string(table.num_shapes()) + " fitted shapes"};
  }
  for (int s : problem.shapes) {
    if (problem.costs.state(s, table.generic_config) == CellState::kMeasured) return Status::ok();
  }
  return {Code::kInvalidArgument, where + "the generic config " +
                                      table.configs[table.generic_config].variant.config.to_text() +
                                      " was never measured right; nothing could serve an unusual call"};
}

Status decide_teacher(const FitProblem& problem, TrainingTable* training) {
  KAON_ASSIGN_OR_RETURN(Validation without, cross_validate(problem, /*with_teacher=*/false));
  training->price_without_micro = training->price_with_micro = without.price_micro;
  if (problem.options.teacher == TeacherMode::kOff || problem.table.num_configs() < 2) {
    training->kept = problem.choose_kept(problem.shapes, {});
    training->teacher_note = problem.table.num_configs() < 2 ? "left out: there is only one config" : "switched off";
    return Status::ok();
  }
  KAON_ASSIGN_OR_RETURN(Validation with, cross_validate(problem, /*with_teacher=*/true));
  training->price_with_micro = with.price_micro;
  const bool helps = with.mean_cost_micro + kTeacherGainMicro <= without.mean_cost_micro;
  training->with_teacher = problem.options.teacher == TeacherMode::kOn || helps;
  training->teacher_note = std::string(training->with_teacher ? "used" : "left out") +
                           ": cross-validated regret over " + std::to_string(problem.shapes.size()) + " shapes " +
                           micro_text(with.mean_cost_micro) + " with it, " + micro_text(without.mean_cost_micro) +
                           " without";
  KAON_ASSIGN_OR_RETURN(std::vector<PredictedShape> all, problem.predict_around(problem.shapes));
  training->kept = problem.choose_kept(problem.shapes, training->with_teacher ? all : std::vector<PredictedShape>());
  training->predicted = restricted(all, training->kept);
  return Status::ok();
}

GrownTree fitted_tree(const FitProblem& problem, const TrainingTable& training, bool with_teacher) {
  const GrownTree grown =
      problem.grow_on(problem.shapes, with_teacher ? training.predicted : std::vector<PredictedShape>(), training.kept);
  return prune(grown, with_teacher ? training.price_with_micro : training.price_without_micro,
               problem.options.max_leaves);
}

// Forgets kept variants that the fitted tree sends no shape to, until every one but the generic has some: they would
// only add bytes. What they were predicted goes with them.
void drop_idle_variants(const FitProblem& problem, TrainingTable* training) {
  for (;;) {
    const GrownTree tree = fitted_tree(problem, *training, training->with_teacher);
    const std::vector<Sample> samples =
        measured_samples(problem.table, problem.costs, problem.shapes, training->kept, problem.vocabulary.features);
    std::vector<char> serves(training->kept.size(), 0);
    serves.back() = 1;
    for (const Sample& sample : samples) {
      for (uint16_t v : leaf_of(tree, sample.features)) {
        if (sample.refused >> v & 1) continue;
        serves[v] = 1;
        break;
      }
    }
    const size_t idle = static_cast<size_t>(std::find(serves.begin(), serves.end(), 0) - serves.begin());
    if (idle == serves.size()) return;
    training->kept.erase(training->kept.begin() + static_cast<std::ptrdiff_t>(idle));
    for (PredictedShape& shape : training->predicted) {
      shape.slowdown_permille.erase(shape.slowdown_permille.begin() + static_cast<std::ptrdiff_t>(idle));
    }
  }
}

// The first variant of the leaf whose guards hold, as a config; the generic one always does.
int first_accepting(const DecisionTree& tree, const std::vector<int32_t>& kept, const Table& table,
                    const int64_t* slots) {
  for (uint16_t v : tree.leaves[find_leaf(tree, slots)]) {
    if (first_refusing(table.signature, table.configs[kept[v]].variant.guards, slots) < 0) return kept[v];
  }
  return table.generic_config;
}

void score_tables(const FitProblem& problem, const TrainingTable& training, const Table& full, DistilledTable* out) {
  auto slots = [&](int shape) { return full.shapes[shape].slots.data(); };
  auto or_generic = [&](int config, int shape) {
    const bool refuses = first_refusing(full.signature, full.configs[config].variant.guards, slots(shape)) >= 0;
    return refuses ? full.generic_config : config;
  };
  const DecisionTree without = to_decision_tree(fitted_tree(problem, training, false), problem.vocabulary.features);
  const DecisionTree with = to_decision_tree(fitted_tree(problem, training, true), problem.vocabulary.features);
  out->single_config = best_single_config(problem.table, problem.costs, problem.shapes);
  for (Scope scope : {Scope::kFitted, Scope::kHeldOut}) {
    const int i = scope == Scope::kHeldOut ? 1 : 0;
    auto tree_score = [&](const DecisionTree& tree) {
      return score(full, scope, [&](int s) { return first_accepting(tree, training.kept, full, slots(s)); });
    };
    out->tree_score[i] = tree_score(out->tree);
    out->without_teacher_score[i] = tree_score(without);
    out->with_teacher_score[i] = tree_score(with);
    out->subset_score[i] = score(full, scope, [&](int s) { return oracle_config(full, s, training.kept); });
    out->single_score[i] = score(full, scope, [&](int s) { return or_generic(out->single_config, s); });
    out->default_score[i] = score(full, scope, [&](int s) { return or_generic(full.default_config, s); });
    out->flips[i] = count_flips(full, scope, problem.model);
  }
}

std::vector<VariantEvidence> gather_evidence(const FitProblem& problem, const std::vector<int32_t>& kept,
                                             const DecisionTree& tree) {
  std::vector<VariantEvidence> evidence(kept.size());
  std::vector<double> log_sums(kept.size(), 0), weights(kept.size(), 0);
  for (size_t v = 0; v < kept.size(); ++v) evidence[v].config = kept[v];
  for (int s : problem.shapes) {
    const Shape& shape = problem.table.shapes[s];
    const int served = first_accepting(tree, kept, problem.table, shape.slots.data());
    for (size_t v = 0; v < kept.size(); ++v) {
      if (kept[v] == served) ++evidence[v].shapes_served;
      if (problem.costs.state(s, kept[v]) != CellState::kMeasured) continue;
      ++evidence[v].shapes_measured;
      if (problem.costs.cost_micro(s, kept[v]) == 0) ++evidence[v].shapes_best;
      if (kept[v] != served) continue;
      const double slowdown = problem.costs.slowdown(s, kept[v]);
      log_sums[v] += shape.weight * std::log(slowdown);
      weights[v] += shape.weight;
      evidence[v].worst_slowdown = std::max(evidence[v].worst_slowdown, slowdown);
    }
  }
  for (size_t v = 0; v < kept.size(); ++v) {
    evidence[v].geomean_slowdown = weights[v] > 0 ? std::exp(log_sums[v] / weights[v]) : 1;
    if (weights[v] == 0) evidence[v].worst_slowdown = 1;
  }
  return evidence;
}

Status check_training(const Table& table, const TrainingTable& training) {
  const std::string where = "training table \"" + training.dtypes + "\": ";
  if (training.dtypes != table.key()) {
    return {Code::kInvalidArgument, where + "stands where \"" + table.key() + "\" was expected"};
  }
  if (training.kept.empty() || training.kept.size() > kMaxKept) {
    return {Code::kInvalidArgument, where + "keeps " + std::to_string(training.kept.size()) + " configs, expected 1.." +
                                        std::to_string(kMaxKept)};
  }
  if (training.kept.back() != table.generic_config) {
    return {Code::kInvalidArgument,
            where + "the last kept config must be the generic one, " + std::to_string(table.generic_config)};
  }
  std::vector<int32_t> sorted = training.kept;
  std::sort(sorted.begin(), sorted.end());
  const bool repeats = std::adjacent_find(sorted.begin(), sorted.end()) != sorted.end();
  if (repeats || sorted.front() < 0 || sorted.back() >= table.num_configs()) {
    return {Code::kInvalidArgument,
            where + "kept configs must be distinct and below " + std::to_string(table.num_configs())};
  }
  for (const PredictedShape& shape : training.predicted) {
    if (shape.slots.size() != static_cast<size_t>(table.signature.num_slots()) ||
        shape.slowdown_permille.size() != training.kept.size()) {
      return {Code::kInvalidArgument, where + "a predicted shape has the wrong number of slots or variants"};
    }
  }
  return Status::ok();
}

}  // namespace

Result<TrainingSet> make_training(const Measurements& measurements, const DistillOptions& options) {
  KAON_RETURN_IF_ERROR(validate(measurements));
  const Measurements view = fitted_view(measurements);
  TrainingSet set;
  set.kernel = measurements.kernel;
  set.measurements_hash = fnv1a(write_measurements(view));
  for (const Table& table : view.tables) {
    FitProblem problem(view, table, options);
    KAON_RETURN_IF_ERROR(check_fittable(problem));
    TrainingTable training;
    training.dtypes = table.key();
    KAON_RETURN_IF_ERROR(decide_teacher(problem, &training));
    drop_idle_variants(problem, &training);
    set.tables.push_back(std::move(training));
  }
  return set;
}

Result<Distilled> fit(const Measurements& measurements, const TrainingSet& training, const DistillOptions& options) {
  KAON_RETURN_IF_ERROR(validate(measurements));
  const Measurements view = fitted_view(measurements);
  if (training.kernel != measurements.kernel || training.measurements_hash != fnv1a(write_measurements(view))) {
    return Status(Code::kStale, "the training table of " + training.kernel + " was made from other measurements of " +
                                    measurements.kernel + "; run aot_runner distill again");
  }
  if (training.tables.size() != view.tables.size()) {
    return Status(Code::kInvalidArgument, "training has " + std::to_string(training.tables.size()) +
                                              " tables, expected " + std::to_string(view.tables.size()));
  }
  Distilled distilled{measurements.kernel, training, {}};
  std::map<std::string, int> num_variants;  // by dtypes, of the tables so far
  for (size_t t = 0; t < view.tables.size(); ++t) {
    KAON_RETURN_IF_ERROR(check_training(view.tables[t], training.tables[t]));
    FitProblem problem(view, view.tables[t], options);
    KAON_RETURN_IF_ERROR(check_fittable(problem));
    const std::vector<int32_t>& kept = training.tables[t].kept;
    DistilledTable out;
    out.dtypes = training.tables[t].dtypes;
    out.table = static_cast<int>(t);
    int& known_variants = num_variants[view.tables[t].dtype_key()];
    out.first_variant = known_variants;
    known_variants += static_cast<int>(kept.size());
    out.with_teacher = training.tables[t].with_teacher;
    out.teacher_note = training.tables[t].teacher_note;
    out.pruned = problem.vocabulary.pruned;
    out.tree =
        to_decision_tree(fitted_tree(problem, training.tables[t], out.with_teacher), problem.vocabulary.features);
    KAON_RETURN_IF_ERROR(kaon::validate(out.tree, view.tables[t].signature.num_slots(), static_cast<int>(kept.size())));
    out.variants = gather_evidence(problem, kept, out.tree);
    score_tables(problem, training.tables[t], measurements.tables[t], &out);
    distilled.tables.push_back(std::move(out));
  }
  return distilled;
}

Result<Distilled> distill(const Measurements& measurements, const DistillOptions& options) {
  KAON_ASSIGN_OR_RETURN(TrainingSet training, make_training(measurements, options));
  return fit(measurements, training, options);
}

int chosen_config(const DistilledTable& distilled, const Table& table, const int64_t* slots) {
  std::vector<int32_t> kept;
  for (const VariantEvidence& evidence : distilled.variants) kept.push_back(evidence.config);
  return first_accepting(distilled.tree, kept, table, slots);
}

}  // namespace kaon::heuristics
