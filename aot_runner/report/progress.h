// What a long run shows while it works: a bar with ETA on a terminal, plain lines every few seconds elsewhere.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

namespace kaon::runner {

/// Where progress goes and how.
struct ProgressOptions {
  std::FILE* out = stderr;
  bool is_terminal = false;
  bool json = false;             // one JSON object a line instead, for machines
  bool quiet = false;
  double line_seconds = 3;       // between plain lines
  double budget_seconds = 0;     // of the search, shown beside the time used; 0: none
};
/// Looks at the stream, NO_COLOR and TERM.
ProgressOptions detect_progress(std::FILE* out);

class Progress {
 public:
  explicit Progress(const ProgressOptions& options) : options_(options) {}

  /// "== search f16: 66 shapes, 1.2e6 configs". Resets the counts.
  void phase(const std::string& title);
  /// A batch of `cells` begins, after which about `expected` more will come.
  void batch(const std::string& stage, int cells, int expected);
  void compiled(bool accepted);
  void cell(bool reused, bool failed);
  /// A short text about the best so far.
  void note(std::string best) { best_ = std::move(best); }
  /// Ends the bar's line and prints the phase's totals.
  void finish();
  /// Prints a line above the bar.
  void line(const std::string& text);

 private:
  using Clock = std::chrono::steady_clock;
  void refresh(bool force);
  std::string counts_text() const;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }
  double eta_seconds() const;
  void clear_bar();

  ProgressOptions options_;
  std::string title_, stage_, best_;
  Clock::time_point start_ = Clock::now();
  Clock::time_point shown_{};
  int done_ = 0, total_ = 0, reused_ = 0, failed_ = 0, accepted_ = 0, rejected_ = 0;
  bool bar_is_open_ = false;
};

/// "3.2 s", "4 min 10 s", "1 h 3 min".
std::string duration_text(double seconds);

}  // namespace kaon::runner
