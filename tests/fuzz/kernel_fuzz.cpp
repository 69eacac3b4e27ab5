// Makes random kernels, runs them with random configs, and compares the target with the interpreter.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "compiler/target/target.h"
#include "tests/fuzz/fuzz_case.h"
#include "tests/fuzz/shrink.h"

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
  kernel_fuzz --seed 417 --cases 1             one case again; --show prints its program

A failure is made smaller and printed as a kernel with a command of kernel_cases that repeats it; --out FOLDER keeps it
as a file there. Case i of seed s is case 0 of seed s + i.
)";

struct Arguments {
  FuzzOptions fuzz;
  uint64_t seed = 1;
  int cases = 300;
  int jobs = 0;
  int shrink_tries = 400;
  int most_failures = 3;
  double seconds = 0;
  bool keeps_going = false;
  bool shows = false;
  std::string out;
};

std::string encode(const FuzzOutcome& outcome, const std::vector<uint32_t>& taken) {
  std::ostringstream out;
  out << static_cast<int>(outcome.verdict) << ' ' << outcome.calls;
  for (const std::string* text : {&outcome.report, &outcome.text, &outcome.config}) out << ' ' << text->size();
  out << ' ' << taken.size();
  for (const uint32_t choice : taken) out << ' ' << choice;
  out << '\n';
  for (const std::string* text : {&outcome.report, &outcome.text, &outcome.config}) out << *text;
  return out.str();
}

void decode(const std::string& message, FuzzOutcome* outcome, std::vector<uint32_t>* taken) {
  std::istringstream in(message);
  int verdict = 0;
  size_t sizes[3] = {}, count = 0;
  in >> verdict >> outcome->calls;
  for (size_t& size : sizes) in >> size;
  in >> count;
  taken->resize(count);
  for (uint32_t& choice : *taken) in >> choice;
  outcome->verdict = static_cast<FuzzVerdict>(verdict);
  size_t at = message.find('\n') + 1, i = 0;
  for (std::string* text : {&outcome->report, &outcome->text, &outcome->config}) {
    *text = message.substr(at, sizes[i]);
    at += sizes[i++];
  }
}

/// Runs in a child.
bool work_on(Choices choices, const FuzzOptions& options, ItemLog& log, std::string* result) {
  static Result<std::unique_ptr<CaseDevice>> device = open_case_device(options.target);
  FuzzOutcome outcome;
  if (!device) {
    outcome.verdict = FuzzVerdict::kInternal;
    outcome.report = device.status().to_string();
    *result = encode(outcome, {});
    return true;
  }
  outcome = run_fuzz_case(choices, options, **device, log);
  *result = encode(outcome, choices.taken());
  return !(*device)->is_lost();
}

/// A program that is too large for its time says nothing; every other death is a failure.
FuzzVerdict verdict_of_death(const std::string& death) {
  const bool is_slow = death.find("no end") == 0 && death.find(" while compiling") != std::string::npos;
  return is_slow ? FuzzVerdict::kSlow : FuzzVerdict::kCrashed;
}

/// One list of choices in a process of its own.
FuzzOutcome run_alone(const std::vector<uint32_t>& choices, const FuzzOptions& options) {
  FuzzOutcome outcome;
  const ItemWork work = [&](size_t, ItemLog& log, std::string* result) {
    return work_on(Choices(choices), options, log, result);
  };
  run_isolated(1, {1, 30}, work, [&](size_t, const std::string& result, const std::string& death) {
    std::vector<uint32_t> taken;
    if (death.empty()) return decode(result, &outcome, &taken);
    outcome.verdict = verdict_of_death(death);
    outcome.report = death;
  });
  return outcome;
}

class Session {
 public:
  explicit Session(const Arguments& arguments) : arguments_(arguments) {}

  int run() {
    const auto start = std::chrono::steady_clock::now();
    const auto taken = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    const ItemWork work = [&](size_t i, ItemLog& log, std::string* result) {
      if (arguments_.seconds > 0 && taken() > arguments_.seconds) return true;
      return work_on(Choices(arguments_.seed + i), arguments_.fuzz, log, result);
    };
    const ItemDone done = [&](size_t i, const std::string& result, const std::string& death) {
      if (!result.empty() || !death.empty()) finish_case(arguments_.seed + i, result, death);
    };
    run_isolated(static_cast<size_t>(arguments_.cases), {arguments_.jobs, 60}, work, done);
    std::printf("%lld cases on %s from seed %llu: ", (long long)cases_, arguments_.fuzz.target.c_str(),
                (unsigned long long)arguments_.seed);
    for (const auto& [verdict, count] : verdicts_) std::printf("%lld %s, ", (long long)count, verdict_name(verdict));
    std::printf("%lld calls in %.1f s\n", (long long)calls_, taken());
    return failures_ == 0 ? 0 : kExitFailures;
  }

 private:
  void finish_case(uint64_t seed, const std::string& result, const std::string& death) {
    FuzzOutcome outcome;
    std::vector<uint32_t> choices;
    if (death.empty()) {
      decode(result, &outcome, &choices);
    } else {
      outcome.verdict = verdict_of_death(death);
      outcome.report = death;
      Choices again(seed);
      outcome.text = random_program(again).text;
      // What a config would be chosen by is not known here; enough of the same source follows.
      for (int i = 0; i < 400; ++i) again.below(UINT32_MAX);
      choices = again.taken();
    }
    ++cases_;
    calls_ += outcome.calls;
    ++verdicts_[outcome.verdict];
    if (arguments_.shows)
      std::printf("seed %llu: %s, config '%s'\n%s", (unsigned long long)seed, verdict_name(outcome.verdict),
                  outcome.config.c_str(), outcome.text.c_str());
    if (!is_failure(outcome.verdict)) return;
    ++failures_;
    if (failures_ > arguments_.most_failures && !arguments_.keeps_going) {
      std::printf("seed %llu: %s\n", (unsigned long long)seed, verdict_name(outcome.verdict));
      return;
    }
    report(seed, outcome, choices);
  }

  void report(uint64_t seed, const FuzzOutcome& first, const std::vector<uint32_t>& choices) {
    const FuzzVerdict verdict = first.verdict;
    const std::vector<uint32_t> small =
        shrink(choices, arguments_.shrink_tries, [&](const std::vector<uint32_t>& candidate) {
          return run_alone(candidate, arguments_.fuzz).verdict == verdict;
        });
    FuzzOutcome outcome = run_alone(small, arguments_.fuzz);
    if (outcome.verdict != verdict) outcome = first;
    if (outcome.verdict == FuzzVerdict::kCrashed) {
      Choices again(small);
      outcome.text = random_program(again).text;
    }
    std::ostringstream text;
    text << "// seed " << seed << ": " << verdict_name(verdict) << "\n" << outcome.text;
    std::istringstream lines(outcome.report);
    for (std::string line; std::getline(lines, line);) text << "// " << line << "\n";
    std::printf("%s", text.str().c_str());
    if (!arguments_.out.empty())
      std::ofstream(arguments_.out + "/fuzz-" + std::to_string(seed) + ".tile") << text.str();
    std::printf(
        "// again: kernel_fuzz --seed %llu --cases 1%s; as printed: kernel_cases FILE with the arguments above\n\n",
        (unsigned long long)seed,
        arguments_.fuzz.target == "host" ? "" : (" --target " + arguments_.fuzz.target).c_str());
    std::fflush(stdout);
  }

  const Arguments& arguments_;
  std::map<FuzzVerdict, int64_t> verdicts_;
  int64_t cases_ = 0, calls_ = 0, failures_ = 0;
};

/// Whether the target can be used here, found out in a child: the parent starts no threads.
std::string why_unusable(const std::string& target) {
  std::string why;
  const ItemWork work = [&](size_t, ItemLog&, std::string* result) {
    const auto device = open_case_device(target);
    if (!device) *result = device.status().message();
    return true;
  };
  run_isolated(1, {1, 60}, work,
               [&](size_t, const std::string& result, const std::string& death) { why = result + death; });
  return why;
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(kHelp);
  app.add_option("--cases", arguments.cases, "how many")->capture_default_str();
  app.add_option("--seed", arguments.seed, "of the first case; the others follow")->capture_default_str();
  app.add_option("--seconds", arguments.seconds, "start no further case after so long");
  app.add_option("--target", arguments.fuzz.target, "host, or the sm_<NN> of this machine's GPU")
      ->capture_default_str();
  app.add_option("--jobs,-j", arguments.jobs, "processes at a time; default one per processor");
  app.add_option("--shrink", arguments.shrink_tries, "tries to make a failure smaller")->capture_default_str();
  app.add_option("--failures", arguments.most_failures, "how many are made smaller and shown")->capture_default_str();
  app.add_flag("--keep-going", arguments.keeps_going, "all failures are made smaller and shown");
  app.add_flag("--show", arguments.shows, "prints every program");
  app.add_option("--out", arguments.out, "folder that keeps failures as files")->check(CLI::ExistingDirectory);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  if (arguments.fuzz.target == "host") arguments.fuzz.max_warps = kHostMaxWarps;
  if (arguments.jobs <= 0) arguments.jobs = static_cast<int>(std::thread::hardware_concurrency());
  if (const auto target = kaon::compiler::find_target(arguments.fuzz.target); !target) {
    std::fprintf(stderr, "kernel_fuzz: --target: %s\n", target.status().message().c_str());
    return kExitUsage;
  }
  const std::string why = why_unusable(arguments.fuzz.target);
  if (!why.empty()) {
    std::printf("[SKIP] %s: %s\n", arguments.fuzz.target.c_str(), why.c_str());
    return kExitSkipped;
  }
  return Session(arguments).run();
}

}  // namespace
}  // namespace kaon::compiler

int main(int argc, char** argv) { return kaon::compiler::main_of(argc, argv); }
