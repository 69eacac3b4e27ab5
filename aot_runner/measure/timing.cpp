// The rounds and their stop rule.
#include "aot_runner/measure/timing.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "aot_runner/measure/statistics.h"

namespace kaon::runner {

namespace {

class Rounds {
 public:
  Rounds(Device& device, const std::vector<Contestant>& contestants, const MeasureOptions& options)
      : device_(device),
        contestants_(contestants),
        options_(options),
        samples_(contestants.size()),
        refined_(contestants.size(), false) {}

  /// Times the contestants in `who` once, rotated so that each is first, last and in the middle in turn.
  Status run(std::vector<size_t> who, bool keep) {
    std::rotate(who.begin(), who.begin() + static_cast<std::ptrdiff_t>(static_cast<size_t>(rounds_) % who.size()),
                who.end());
    std::vector<Replay*> replays;
    for (const size_t i : who) replays.push_back(contestants_[i].replay);
    std::vector<double> us;
    KAON_RETURN_IF_ERROR(device_.time(replays, &us));
    if (!keep) return Status::ok();
    for (size_t k = 0; k < who.size(); ++k) samples_[who[k]].push_back(us[k]);
    ++rounds_;
    return Status::ok();
  }

  std::vector<size_t> everybody() const {
    std::vector<size_t> who(contestants_.size());
    for (size_t i = 0; i < who.size(); ++i) who[i] = i;
    return who;
  }

  /// Those worth another sample.
  std::vector<size_t> unsettled() {
    double best = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (!contestants_[i].is_yardstick) best = std::min(best, median(samples_[i]));
    }
    std::vector<size_t> who;
    for (size_t i = 0; i < samples_.size(); ++i) {
      if (!contestants_[i].is_yardstick && median(samples_[i]) > options_.refine_within * best) continue;
      refined_[i] = true;
      const int n = static_cast<int>(samples_[i].size());
      if (n >= options_.max_samples) continue;
      if (n < options_.min_samples || spread(samples_[i]).median_error > options_.target_mad) who.push_back(i);
    }
    return who;
  }

  RoundsResult result(double seconds) const {
    RoundsResult r;
    r.seconds = seconds;
    r.rounds = rounds_;
    for (size_t i = 0; i < samples_.size(); ++i) {
      const Spread s = spread(samples_[i]);
      r.timings.push_back({s.median, s.mad, s.min, static_cast<int>(samples_[i].size()), refined_[i], 0});
    }
    return r;
  }

 private:
  Device& device_;
  const std::vector<Contestant>& contestants_;
  const MeasureOptions& options_;
  std::vector<std::vector<double>> samples_;
  std::vector<bool> refined_;
  int rounds_ = 0;
};

}  // namespace

Result<RoundsResult> time_in_rounds(Device& device, const std::vector<Contestant>& contestants,
                                    const MeasureOptions& options) {
  if (contestants.empty()) return RoundsResult{};
  const auto start = std::chrono::steady_clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
  Rounds rounds(device, contestants, options);
  KAON_RETURN_IF_ERROR(rounds.run(rounds.everybody(), /*keep=*/false));
  for (int i = 0; i < std::max(1, options.first_samples); ++i) {
    if (i > 0 && seconds() > options.max_seconds) break;
    KAON_RETURN_IF_ERROR(rounds.run(rounds.everybody(), /*keep=*/true));
  }
  for (std::vector<size_t> who = rounds.unsettled(); !who.empty() && seconds() < options.max_seconds;
       who = rounds.unsettled()) {
    KAON_RETURN_IF_ERROR(rounds.run(who, /*keep=*/true));
  }
  return rounds.result(seconds());
}

}  // namespace kaon::runner
