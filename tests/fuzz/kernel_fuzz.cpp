// Makes random kernels, runs them with random configs, and compares the target with the interpreter.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <limits>
#include <string>
#include <thread>

#include "compiler/target/target.h"
#include "tests/fuzz/session.h"

namespace kaon::compiler {
namespace {

constexpr int kExitFailures = 1;
constexpr int kExitUsage = 2;
constexpr int kExitSkipped = 77;
constexpr int kHostMaxWarps = 4;

constexpr const char* kHelp = R"(Makes random kernels and configs, and compares what they compute with the interpreter.

  kernel_fuzz                                  300 cases on the CPU's checking machine
  kernel_fuzz --cases 20000 --keep-going       the long run
  kernel_fuzz --cases 2000 --target sm_90      on this machine's GPU, compiled here
  kernel_fuzz --target sm_90 --compile-only    no GPU needed: whether everything compiles
  kernel_fuzz --seed 417 --cases 1             one case again; --show prints its program

Each case runs in one of --jobs processes, which a crash, a hang or a lost GPU ends without harm to the others. A failure
is named when it happens; at the end failures are made smaller and printed as kernels with a command of kernel_cases that
repeats them. --out FOLDER keeps them as files from the start. Case i of seed s is case 0 of seed s + i.
)";

int main_of(int argc, char** argv) {
  SessionOptions options;
  options.jobs = 0;
  bool keeps_going = false;
  CLI::App app(kHelp);
  app.add_option("--cases", options.cases, "how many")->capture_default_str();
  app.add_option("--seed", options.seed, "of the first case; the others follow")->capture_default_str();
  app.add_option("--seconds", options.seconds, "start no further case after so long");
  app.add_option("--case-seconds", options.case_seconds, "end a case that takes longer")->capture_default_str();
  app.add_option("--target", options.fuzz.target, "host, or the sm_<NN> of this machine's GPU")->capture_default_str();
  app.add_flag("--compile-only", options.fuzz.compile_only, "compile, and run nothing");
  app.add_option("--jobs,-j", options.jobs, "processes at a time; default one per processor");
  app.add_option("--shrink", options.shrink_tries, "tries to make a failure smaller")->capture_default_str();
  app.add_option("--shrink-seconds", options.shrink_seconds, "time to make a failure smaller")->capture_default_str();
  app.add_option("--failures", options.most_failures, "how many are made smaller and shown")->capture_default_str();
  app.add_flag("--keep-going", keeps_going, "all failures are made smaller and shown");
  app.add_flag("--show", options.shows, "prints every program");
  app.add_option("--out", options.out, "folder that keeps failures as files")->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (keeps_going) options.most_failures = std::numeric_limits<int>::max();
  if (options.fuzz.target == "host") options.fuzz.max_warps = kHostMaxWarps;
  if (options.jobs <= 0) options.jobs = static_cast<int>(std::thread::hardware_concurrency());
  if (const auto target = find_target(options.fuzz.target); !target) {
    std::fprintf(stderr, "kernel_fuzz: --target: %s\n", target.status().message().c_str());
    return kExitUsage;
  }
  const std::string why = why_unusable(options.fuzz);
  if (!why.empty()) {
    std::printf("[SKIP] %s: %s\n", options.fuzz.target.c_str(), why.c_str());
    return kExitSkipped;
  }
  return FuzzSession(options).run() ? 0 : kExitFailures;
}

}  // namespace
}  // namespace kaon::compiler

int main(int argc, char** argv) { return kaon::compiler::main_of(argc, argv); }
