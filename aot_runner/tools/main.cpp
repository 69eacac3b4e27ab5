// The program aot_runner: tunes a kernel on this machine's device and writes the sources that ship.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <csignal>
#include <string>
#include <vector>

#include "aot_runner/tools/commands.h"

int kaon::runner::fail(const Status& status) {
  fmt::print(stderr, "error: {}\n", status.message());
  return kExitUser;
}

namespace {

constexpr const char* kAbout =
    "Tunes a tile kernel ahead of time: compiles configs, measures them over a sweep of shapes, and writes sources "
    "that pick\n"
    "the right one by shape.";

constexpr const char* kFooter = R"(
First steps:
  aot_runner shapes softmax.tile --shapes softmax.shapes.json     what would be tuned for
  aot_runner tune   softmax.tile --shapes softmax.shapes.json     tune on the GPU if there is one, else on the CPU
  aot_runner tune   softmax.tile -- ./my_benchmark                record the shapes that a program uses, then tune for them
  aot_runner explain --from sm90 --shape 4096x1024 --dtypes f16   why that variant
  aot_runner explain --kernel softmax --shape 4096x1024 --dtypes f16 --device-facts sm_120   what another chip would do
  aot_runner doctor                                               what this machine has, and what is missing
  aot_runner check sm90 --tile softmax.tile                       is the pack still made from this source

A run may be stopped or killed at any time; the same command resumes it. What was learnt lies in $KAON_CACHE_DIR
(default ~/.cache/kaon).

Environment: KAON_CACHE_DIR, KAON_FORCE_AUTOTUNE=1 (measure again), KAON_SKIP_CACHE=1 (keep nothing),
  KAON_ASSERT_CACHE_HIT=1 (fail rather than measure), KAON_EFFORT=none|quick|full, KAON_BUDGET_SECONDS, KAON_PTXAS.
Exit status: 0 done, 1 an error that you can mend, 2 wrong usage, 3 nothing could be measured, 130 interrupted.
)";

/// Everything after a lone "--" is a program to record, not ours to parse.
std::vector<std::string> split_program(int argc, char** argv, std::vector<std::string>* ours) {
  std::vector<std::string> program;
  bool after = false;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    if (!after && arg == "--") {
      after = true;
      continue;
    }
    (after ? program : *ours).push_back(arg);
  }
  return program;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace kaon::runner;
  std::vector<std::string> ours;
  const std::vector<std::string> program = split_program(argc, argv, &ours);
  CLI::App app(kAbout, "aot_runner");
  app.footer(kFooter);
  app.require_subcommand(1);
  app.set_version_flag("--version", "aot_runner 0.1.0");
  Action action;
  add_tune_commands(&app, &action, ours, program);
  add_artifact_commands(&app, &action);
  add_explain_command(&app, &action);
  add_doctor_command(&app, &action);
  add_helper_commands(&app, &action);
  try {
    std::vector<std::string> reversed(ours.rbegin(), ours.rend());
    app.parse(reversed);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? kExitOk : kExitUsage;
  }
  std::signal(SIGXFSZ, SIG_IGN);  // a limit on the size of files is then an error of the write, which names the file
  return action();
}
