// What a tuning run was asked to do, from the command line and the environment.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::runner {

/// The phases of a run, in order; a run does all up to the one it was asked for.
enum class Phase : uint8_t { kCompile, kMeasure, kEvaluate, kDistill, kEmit };

enum class Effort : uint8_t { kNone, kQuick, kFull };

struct TuneOptions {
  std::string tile;                  // path of the .tile
  std::string shapes;                // path of a shapes file or a recording
  std::vector<std::string> program;  // argv to record and tune for, instead of shapes
  std::string kernel;                // empty: the only one
  std::vector<std::string> dtypes;   // empty: as the shapes file says, else all
  std::string device = "auto";       // auto | host | cuda | cuda:N
  std::string out;                   // folder; empty: the .tile's
  std::string search = "quick";
  int trials = 0;
  double budget_seconds = -1;  // below 0: by effort
  int max_variants = 8;
  int final_configs = 0;  // 0: by effort
  uint64_t seed = 1;
  int jobs = 0;
  std::vector<std::string> targets;  // besides the device's own: cross-compiled, not run
  std::string date;                  // empty: today, for a new run
  std::string effort;                // none | quick | full; empty: KAON_EFFORT, else full
  bool checked = false;              // variants that stop at asserts and indices out of range; results in <out>/checked
  bool only_stored = false;          // compile nothing: use the variants that the store holds
  std::string compile_for;           // compile phase only: a target whose device need not be here
  bool json_progress = false;
  bool quiet = false;
  std::vector<std::string> command_line;  // as typed, for the resume command and the banner
};

/// What the environment asks for; see aot_runner/README.md.
struct Environment {
  std::string cache_folder;    // KAON_CACHE_DIR, else $XDG_CACHE_HOME/kaon, else ~/.cache/kaon
  bool force = false;          // KAON_FORCE_AUTOTUNE: forget what was measured
  bool skip_cache = false;     // KAON_SKIP_CACHE: a store in memory
  bool assert_hit = false;     // KAON_ASSERT_CACHE_HIT: fail rather than compile or measure
  std::string effort;          // KAON_EFFORT
  double budget_seconds = -1;  // KAON_BUDGET_SECONDS
};
/// kInvalidArgument naming the variable, its value and what it may be.
Result<Environment> read_environment();

/// Numbers that an effort stands for; options given in words win.
struct EffortNumbers {
  Effort effort = Effort::kFull;
  double budget_seconds = 0;  // of the whole run
  int final_configs = 0;
  int trials = 0;  // -1: none beside the seeds
};
Result<EffortNumbers> resolve_effort(const TuneOptions& options, const Environment& environment);

}  // namespace kaon::runner
