// Children run the cases; the parent counts, and has no device of its own, so that nothing a case does can spoil it.
#include "tests/fuzz/session.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "compiler/compile.h"
#include "tests/fuzz/shrink.h"

namespace kaon::compiler {
namespace {

constexpr double kProgressSeconds = 10;

std::string encode(const FuzzOutcome& outcome, const std::vector<uint32_t>& taken) {
  std::ostringstream out;
  out << static_cast<int>(outcome.verdict) << ' ' << outcome.calls << ' ' << outcome.compared << ' '
      << outcome.unconstrained;
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
  in >> verdict >> outcome->calls >> outcome->compared >> outcome->unconstrained;
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
  static Result<std::unique_ptr<CaseDevice>> device =
      options.compile_only ? Result<std::unique_ptr<CaseDevice>>(std::unique_ptr<CaseDevice>())
                           : open_case_device(options.target);
  FuzzOutcome outcome;
  if (!device) {
    outcome.verdict = FuzzVerdict::kInternal;
    outcome.report = device.status().to_string();
    *result = encode(outcome, {});
    return true;
  }
  outcome = run_fuzz_case(choices, options, device->get(), log);
  *result = encode(outcome, choices.taken());
  return *device == nullptr || !(*device)->is_lost();
}

/// A program that is too large for its time says nothing; every other death is a failure.
FuzzVerdict verdict_of_death(const std::string& death) {
  const bool is_slow = death.find("no end") == 0 && death.find(" while compiling") != std::string::npos;
  return is_slow ? FuzzVerdict::kSlow : FuzzVerdict::kCrashed;
}

/// One list of choices in a process of its own.
FuzzOutcome run_alone(const std::vector<uint32_t>& choices, const FuzzOptions& options, double limit_s) {
  FuzzOutcome outcome;
  const ItemWork work = [&](size_t, ItemLog& log, std::string* result) {
    return work_on(Choices(choices), options, log, result);
  };
  run_isolated(1, {1, limit_s}, work, [&](size_t, const std::string& result, const std::string& death) {
    std::vector<uint32_t> taken;
    if (death.empty()) return decode(result, &outcome, &taken);
    outcome.verdict = verdict_of_death(death);
    outcome.report = death;
    Choices again(choices);
    outcome.text = random_program(again).text;
  });
  return outcome;
}

/// What two failures have in common that come from one mistake: a complaint's words without its names and numbers.
std::string kind_of(const FuzzOutcome& outcome) {
  std::string kind = verdict_name(outcome.verdict);
  const bool has_message = outcome.verdict == FuzzVerdict::kInternal || outcome.verdict == FuzzVerdict::kRejected;
  size_t at = outcome.report.find("internal: ");
  if (at == std::string::npos) at = outcome.report.find("error: ");
  if (!has_message || at == std::string::npos) return kind;
  for (; at < outcome.report.size() && outcome.report[at] != '\n' && kind.size() < 60; ++at) {
    const bool is_word = std::isalpha(static_cast<unsigned char>(outcome.report[at])) != 0;
    if (is_word || kind.back() != ' ') kind += is_word ? outcome.report[at] : ' ';
  }
  return kind;
}

}  // namespace

double FuzzSession::taken() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

bool FuzzSession::run() {
  const ItemWork work = [&](size_t i, ItemLog& log, std::string* result) {
    if (options_.seconds > 0 && taken() > options_.seconds) return true;
    return work_on(Choices(options_.seed + i), options_.fuzz, log, result);
  };
  const ItemDone done = [&](size_t i, const std::string& result, const std::string& death) {
    if (!result.empty() || !death.empty()) finish_case(options_.seed + i, result, death);
    tell_progress();
  };
  run_isolated(static_cast<size_t>(options_.cases), {options_.jobs, options_.case_seconds}, work, done);
  const double ended = taken();
  shrink_failures();
  std::printf("%lld cases on %s%s from seed %llu: ", (long long)cases_, options_.fuzz.target.c_str(),
              options_.fuzz.compile_only ? ", compiled only," : "", (unsigned long long)options_.seed);
  for (const auto& [verdict, count] : verdicts_) std::printf("%lld %s, ", (long long)count, verdict_name(verdict));
  std::printf("%lld calls, %lld elements of which %lld may be anything, in %.1f s\n", (long long)calls_,
              (long long)compared_, (long long)unconstrained_, ended);
  return failures_.empty();
}

void FuzzSession::tell_progress() {
  if (taken() < next_progress_) return;
  next_progress_ = taken() + kProgressSeconds;
  std::fprintf(stderr, "%lld of %d cases, %zu failed, %.0f s\n", (long long)cases_, options_.cases, failures_.size(),
               taken());
}

void FuzzSession::finish_case(uint64_t seed, const std::string& result, const std::string& death) {
  Failure failure{seed, {}, {}};
  FuzzOutcome& outcome = failure.outcome;
  if (death.empty()) {
    decode(result, &outcome, &failure.choices);
  } else {
    outcome.verdict = verdict_of_death(death);
    outcome.report = death;
    Choices again(seed);
    outcome.text = random_program(again).text;
    // What a config would be chosen by is not known here; enough of the same source follows.
    for (int i = 0; i < 400; ++i) again.below(UINT32_MAX);
    failure.choices = again.taken();
  }
  ++cases_;
  calls_ += outcome.calls;
  compared_ += outcome.compared;
  unconstrained_ += outcome.unconstrained;
  ++verdicts_[outcome.verdict];
  if (options_.shows)
    std::printf("seed %llu: %s, config '%s'\n%s", (unsigned long long)seed, verdict_name(outcome.verdict),
                outcome.config.c_str(), outcome.text.c_str());
  if (!is_failure(outcome.verdict)) return;
  std::printf("seed %llu: %s\n", (unsigned long long)seed, verdict_name(outcome.verdict));
  std::fflush(stdout);
  keep(failure, text_of(failure));
  failures_.push_back(std::move(failure));
}

/// Several at a time, each by a child that starts children of its own for its tries.
void FuzzSession::shrink_failures() {
  const size_t count = std::min(failures_.size(), static_cast<size_t>(std::max(options_.most_failures, 0)));
  const ItemWork work = [&](size_t i, ItemLog& log, std::string* result) {
    const Failure& first = failures_[i];
    log.begin("making seed " + std::to_string(first.seed) + " smaller");
    const std::string kind = kind_of(first.outcome);
    const double end = taken() + options_.shrink_seconds;
    const std::vector<uint32_t> small =
        shrink(first.choices, options_.shrink_tries, [&](const std::vector<uint32_t>& candidate) {
          return taken() < end && kind_of(run_alone(candidate, options_.fuzz, options_.case_seconds)) == kind;
        });
    const FuzzOutcome again = run_alone(small, options_.fuzz, options_.case_seconds);
    const bool repeats = again.verdict == first.outcome.verdict;
    *result = text_of({first.seed, repeats ? again : first.outcome, {}});
    return true;
  };
  run_isolated(count, {options_.jobs, options_.shrink_seconds + 3 * options_.case_seconds}, work,
               [&](size_t i, const std::string& result, const std::string& death) {
                 const std::string text = death.empty() ? result : text_of(failures_[i]);
                 std::printf("\n%s", text.c_str());
                 std::fflush(stdout);
                 keep(failures_[i], text);
               });
  if (count < failures_.size()) std::printf("\n%zu failures are not made smaller\n", failures_.size() - count);
}

std::string FuzzSession::text_of(const Failure& failure) const {
  std::ostringstream text;
  text << "// seed " << failure.seed << ": " << verdict_name(failure.outcome.verdict) << "\n" << failure.outcome.text;
  std::istringstream lines(failure.outcome.report);
  for (std::string line; std::getline(lines, line);) text << "// " << line << "\n";
  text << "// config: " << failure.outcome.config << "\n";
  text << "// again: kernel_fuzz --seed " << failure.seed << " --cases 1"
       << (options_.fuzz.target == "host" ? "" : " --target " + options_.fuzz.target)
       << (options_.fuzz.compile_only ? " --compile-only" : "")
       << "; as printed: kernel_cases FILE with the arguments above\n";
  return text.str();
}

void FuzzSession::keep(const Failure& failure, const std::string& text) const {
  if (options_.out.empty()) return;
  std::ofstream(options_.out + "/fuzz-" + std::to_string(failure.seed) + ".tile") << text;
}

std::string why_unusable(const FuzzOptions& options) {
  std::string why;
  const ItemWork work = [&](size_t, ItemLog&, std::string* result) {
    if (options.target != "host") {
      const Result<std::string> ptxas = find_ptxas();
      if (!ptxas) *result = ptxas.status().message();
    }
    if (options.compile_only || !result->empty()) return true;
    const auto device = open_case_device(options.target);
    if (!device) *result = device.status().message();
    return true;
  };
  run_isolated(1, {1, 60}, work,
               [&](size_t, const std::string& result, const std::string& death) { why = result + death; });
  return why;
}

}  // namespace kaon::compiler
