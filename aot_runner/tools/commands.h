// The subcommands of aot_runner, each in its own file: options, help, and what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::runner {

/// Exit codes, as aot_runner/README.md documents them.
enum ExitCode : int {
  kExitOk = 0,
  kExitUser = 1,     // something that the user can mend: input, device, disk
  kExitUsage = 2,    // the command line
  kExitNothing = 3,  // no config could be measured
  kExitInterrupted = 130,
};

/// What the command line turned out to ask for; empty until a subcommand was parsed.
using Action = std::function<int()>;

/// Tells the user why; the exit code of that.
int fail(const Status& status);

/// tune and its phases: compile, measure, evaluate, distill; redistill. `typed` is the command line for the resume command, `program`
/// what stood after "--".
void add_tune_commands(CLI::App* app, Action* action, const std::vector<std::string>& typed,
                       const std::vector<std::string>& program);
/// emit, report, check: from the files of a finished run, without a device.
void add_artifact_commands(CLI::App* app, Action* action);
/// explain: from the files of a finished run or from packs, without a device.
void add_explain_command(CLI::App* app, Action* action);
/// doctor: what this machine has.
void add_doctor_command(CLI::App* app, Action* action);
/// shapes, cache, compile-worker.
void add_helper_commands(CLI::App* app, Action* action);

}  // namespace kaon::runner
