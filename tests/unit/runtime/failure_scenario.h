// Everything that the runtime asks of a driver, in one sequence of calls, and what came of each.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::testing {

struct Outcome {
  std::vector<std::string> failures;  // "the first call: driver: cuX: ..." for each step that failed
  std::vector<Code> codes;            // of those
  std::vector<std::string> lost;      // steps that failed again when they were repeated
};

/// Runs the steps in this process, which must not have used the driver before; a step that fails is repeated once.
/// `pack_path` is a pack of the kernel "swapped".
Outcome run_scenario(const std::string& pack_path);

/// What the steps left behind: launches, code that is loaded, objects that were not released.
std::string scenario_state();

/// The pack at `pack_path`.
std::string scenario_pack();

}  // namespace kaon::testing
