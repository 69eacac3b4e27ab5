// A run of the fuzzer: cases in processes of their own, failures made smaller afterwards, and what is said of both.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "tests/fuzz/fuzz_case.h"

namespace kaon::compiler {

struct SessionOptions {
  FuzzOptions fuzz;
  uint64_t seed = 1;
  int cases = 300;
  int jobs = 1;              // processes at a time
  double seconds = 0;        // no case starts after so long; 0: no limit
  double case_seconds = 60;  // a case that takes longer is ended
  int shrink_tries = 400;    // for each failure
  double shrink_seconds = 120;
  int most_failures = 3;  // that are made smaller
  bool shows = false;     // every program
  std::string out;        // folder that keeps failures as files; empty: none
};

class FuzzSession {
 public:
  explicit FuzzSession(const SessionOptions& options) : options_(options) {}

  /// Runs the cases, prints failures and a last line of counts. True when nothing failed. The caller must not have
  /// started threads.
  bool run();

 private:
  struct Failure {
    uint64_t seed = 0;
    FuzzOutcome outcome;
    std::vector<uint32_t> choices;
  };

  void finish_case(uint64_t seed, const std::string& result, const std::string& death);
  void shrink_failures();
  std::string text_of(const Failure& failure) const;
  void keep(const Failure& failure, const std::string& text) const;
  void tell_progress();
  double taken() const;

  const SessionOptions& options_;
  const std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::map<FuzzVerdict, int64_t> verdicts_;
  std::vector<Failure> failures_;
  int64_t cases_ = 0, calls_ = 0, compared_ = 0, unconstrained_ = 0;
  double next_progress_ = 10;
};

/// Why the target cannot be used here, found out in a child; empty when it can.
std::string why_unusable(const FuzzOptions& options);

}  // namespace kaon::compiler
