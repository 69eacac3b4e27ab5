// A tuning run from its first phase to the one that was asked for.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aot_runner/tune/artifacts.h"
#include "aot_runner/tune/session.h"
#include "aot_runner/tune/sweep.h"

namespace kaon::runner {

struct TuneResult {
  heuristics::Measurements measurements;
  heuristics::TrainingSet training;
  Artifacts artifacts;
  std::string folder;
  std::vector<std::string> paths;
  SweepCounts counts;
};

/// The folder that a run with these options makes its results folder in.
std::string output_base(const TuneOptions& options);

/// Runs the phases up to `until` on an open session. Resumes by itself: what the store holds is not made again. With
/// kCompile nothing is measured and the whole candidate list of the search's first batch (all of it for exhaustive and
/// random) is compiled into the store. After kMeasure and kEvaluate only `counts` is filled.
Result<TuneResult> run_tune(Session* session, Phase until);

/// Chooses variants and tree anew from what an earlier run measured, with the weights and roles that the session's
/// shapes file gives its shapes now; shapes that the file no longer names are left out. The session has its kernel open
/// and was prepared by open_store(). Images come from the store. kInvalidArgument for shapes that were not measured,
/// kNotFound for variants that the store does not hold.
Result<TuneResult> run_redistill(Session* session, heuristics::Measurements measurements);

}  // namespace kaon::runner
