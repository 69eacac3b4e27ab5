#include "aot_runner/report/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

namespace kaon::runner {

ProgressOptions detect_progress(std::FILE* out) {
  ProgressOptions options;
  options.out = out;
  const char* term = std::getenv("TERM");
  options.is_terminal = isatty(fileno(out)) == 1 && term != nullptr && std::strcmp(term, "dumb") != 0;
  return options;
}

std::string duration_text(double seconds) {
  if (seconds < 60) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  return fmt::format("{} h {} min", whole / 3600, whole % 3600 / 60);
}

void Progress::phase(const std::string& title) {
  clear_bar();
  title_ = title;
  stage_.clear();
  best_.clear();
  done_ = total_ = reused_ = failed_ = accepted_ = rejected_ = 0;
  start_ = Clock::now();
  shown_ = start_;
  if (options_.quiet) return;
  if (options_.json) {
    fmt::print(options_.out, "{{\"event\": \"phase\", \"title\": \"{}\"}}\n", title);
  } else {
    fmt::print(options_.out, "== {}\n", title);
  }
  std::fflush(options_.out);
}

void Progress::batch(const std::string& stage, int cells, int expected) {
  stage_ = stage;
  total_ = done_ + cells + expected;
  refresh(/*force=*/false);
}

void Progress::compiled(bool accepted) {
  ++(accepted ? accepted_ : rejected_);
  refresh(/*force=*/false);
}

void Progress::cell(bool reused, bool failed) {
  ++done_;
  reused_ += reused ? 1 : 0;
  failed_ += failed ? 1 : 0;
  refresh(/*force=*/false);
}

double Progress::eta_seconds() const {
  const int measured = done_ - reused_;
  if (measured <= 0 || total_ <= done_) return 0;
  return seconds() / measured * (total_ - done_);
}

std::string Progress::counts_text() const {
  std::string text = fmt::format("{}/{} cells", done_, std::max(total_, done_));
  if (reused_ > 0) text += fmt::format(", {} known", reused_);
  if (failed_ > 0) text += fmt::format(", {} failed", failed_);
  if (accepted_ + rejected_ > 0) text += fmt::format(", {} compiled", accepted_);
  if (rejected_ > 0) text += fmt::format(", {} rejected", rejected_);
  return text;
}

void Progress::refresh(bool force) {
  if (options_.quiet) return;
  const double since = std::chrono::duration<double>(Clock::now() - shown_).count();
  const double period = options_.is_terminal && !options_.json ? 0.2 : options_.line_seconds;
  if (!force && since < period) return;
  shown_ = Clock::now();
  const double used = seconds();
  const double rate = used > 0 ? (done_ - reused_) / used : 0;
  if (options_.json) {
    fmt::print(options_.out,
               "{{\"event\": \"progress\", \"stage\": \"{}\", \"done\": {}, \"total\": {}, \"reused\": {}, \"failed\": {}, "
               "\"compiled\": {}, \"rejected\": {}, \"cells_per_s\": {:.2f}, \"seconds\": {:.1f}, \"eta_seconds\": {:.1f}}}\n",
               stage_, done_, std::max(total_, done_), reused_, failed_, accepted_, rejected_, rate, used, eta_seconds());
    std::fflush(options_.out);
    return;
  }
  std::string text = fmt::format("{}, {:.1f} cells/s, {} used", counts_text(), rate, duration_text(used));
  if (options_.budget_seconds > 0) text += fmt::format(" of {}", duration_text(options_.budget_seconds));
  if (const double eta = eta_seconds(); eta > 0) text += fmt::format(", ETA {}", duration_text(eta));
  if (!stage_.empty()) text += fmt::format(" [{}]", stage_);
  if (!best_.empty()) text += fmt::format(" {}", best_);
  if (!options_.is_terminal) {
    fmt::print(options_.out, "   {}\n", text);
  } else {
    constexpr int kWidth = 24;
    const int filled = total_ > 0 ? std::min(kWidth, kWidth * done_ / total_) : 0;
    fmt::print(options_.out, "\r\033[K[{}{}] {}", std::string(static_cast<size_t>(filled), '#'),
               std::string(static_cast<size_t>(kWidth - filled), '.'), text);
    bar_is_open_ = true;
  }
  std::fflush(options_.out);
}

void Progress::clear_bar() {
  if (bar_is_open_) fmt::print(options_.out, "\r\033[K");
  bar_is_open_ = false;
}

void Progress::finish() {
  clear_bar();
  if (options_.quiet) return;
  total_ = done_;
  stage_ = "done";
  if (options_.json) {
    refresh(/*force=*/true);
  } else {
    fmt::print(options_.out, "   {} in {}\n", counts_text(), duration_text(seconds()));
  }
  std::fflush(options_.out);
}

void Progress::line(const std::string& text) {
  clear_bar();
  if (options_.quiet || options_.json) return;
  fmt::print(options_.out, "   {}\n", text);
  std::fflush(options_.out);
}

}  // namespace kaon::runner
