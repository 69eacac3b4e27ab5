// The default search: a spread sample on a few spread shapes, then neighbours of each region's best, then ever fewer
// configs on ever more shapes. Sized so that a hundred shapes take minutes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "aot_runner/search/strategy.h"

namespace kaon::runner {
namespace {

constexpr int kProbes = 12;             // shapes that stand for their regions
constexpr size_t kInitial = 48;         // configs of the first sample
constexpr size_t kBatch = 16;
constexpr size_t kRoundConfigs = 48;    // configs proposed in one round of neighbours
constexpr int kMaxRounds = 10;
constexpr double kGain = 1.015;         // a round that speeds no region up by this much is lost
constexpr int kPatience = 2;            // lost rounds in a row before the search turns to widening
constexpr double kInitialShare = 0.35;  // of the budget
constexpr double kRoundsShare = 0.60;
constexpr double kWidenShare = 0.5;     // of what is left after the final configs were paid for
constexpr size_t kSmallSpace = 24;      // legal configs that are simply all tried
constexpr double kGuessCellSeconds = 0.02;
constexpr size_t kFewestFinal = 8;

class QuickStrategy final : public Strategy {
 public:
  QuickStrategy(Problem problem, const SearchOptions& options)
      : Strategy(std::move(problem), options), random_(options.seed) {
    probes_ = spread_subset(problem_.shapes, kProbes);
    seeds_ = seed_configs(*problem_.space);
    known_.insert(seeds_.begin(), seeds_.end());
    queue_ = seeds_;
    std::vector<Config> small = problem_.space->enumerate(kSmallSpace + 1);
    if (small.size() <= kSmallSpace) {
      for (Config& config : small) {
        if (known_.insert(config).second) queue_.push_back(std::move(config));
      }
      space_is_small_ = true;
      return;
    }
    const size_t initial = options.trials > 0 ? std::min<size_t>(kInitial, static_cast<size_t>(options.trials)) : kInitial;
    std::vector<Config> sample = sample_configs(*problem_.space, initial, &random_, &known_);
    queue_.insert(queue_.end(), sample.begin(), sample.end());
  }

  std::vector<Ask> ask() override {
    for (;;) {
      std::vector<Ask> batch;
      switch (stage_) {
        case Stage::kInitial: batch = ask_initial(); break;
        case Stage::kRounds: batch = ask_round(); break;
        case Stage::kWiden: batch = ask_widen(); break;
        case Stage::kFinal: batch = ask_final(); break;
        case Stage::kDone: return {};
      }
      if (!batch.empty()) return batch;
    }
  }

  std::vector<Config> finalists() const override {
    std::vector<Config> sorted = final_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  int expected_cells() const override {
    const int shapes = static_cast<int>(problem_.shapes.size());
    const int final_cells = options_.final_configs * shapes;
    switch (stage_) {
      case Stage::kInitial: return static_cast<int>((queue_.size() + 3 * kRoundConfigs) * probes_.size()) + final_cells;
      case Stage::kRounds: return static_cast<int>(2 * kRoundConfigs * 3) + final_cells;
      case Stage::kWiden: return final_cells;
      default: return 0;
    }
  }

  std::string stage() const override {
    switch (stage_) {
      case Stage::kInitial: return "first sample";
      case Stage::kRounds: return fmt::format("neighbours, round {}", round_);
      case Stage::kWiden: return "fewer configs, more shapes";
      default: return "final configs on all shapes";
    }
  }

 private:
  enum class Stage : uint8_t { kInitial, kRounds, kWiden, kFinal, kDone };

  /// The cells of `config` on `shapes` that were not asked before.
  void add_ask(const Config& config, const std::vector<int>& shapes, std::vector<Ask>* batch) const {
    Ask ask{config, {}};
    for (int s : shapes) {
      if (seen_.at(config, s).kind == Outcome::Kind::kUnknown) ask.shapes.push_back(s);
    }
    if (!ask.shapes.empty()) batch->push_back(std::move(ask));
  }

  bool failed_everywhere(const Config& config) const {
    const auto row = seen_.rows().find(config);
    if (row == seen_.rows().end()) return false;
    return std::none_of(row->second.begin(), row->second.end(),
                        [](const Outcome& o) { return o.kind == Outcome::Kind::kTimed; });
  }

  std::vector<Ask> ask_initial() {
    std::vector<Ask> batch;
    // The seeds are measured whatever the budget: there is no table without them.
    const bool stop = next_ >= seeds_.size() && budget_spent(kInitialShare);
    while (!stop && next_ < queue_.size() && batch.size() < kBatch) add_ask(queue_[next_++], probes_, &batch);
    if (batch.empty()) {
      stage_ = space_is_small_ ? Stage::kWiden : Stage::kRounds;
      remember_best();
    }
    return batch;
  }

  void remember_best() {
    best_before_.clear();
    for (int p : probes_) best_before_.push_back(seen_.best_us(p));
  }

  bool round_gained() const {
    for (size_t i = 0; i < probes_.size(); ++i) {
      const double now = seen_.best_us(probes_[i]);
      if (std::isfinite(now) && best_before_[i] > now * kGain) return true;
    }
    return false;
  }

  /// `probe` and the two probes nearest to it: a config good here is likely good there.
  std::vector<int> region(int probe) const {
    std::vector<int> order = probes_;
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
      const Shape& here = problem_.shapes[static_cast<size_t>(probe)].shape;
      return log_distance(here, problem_.shapes[static_cast<size_t>(a)].shape) <
             log_distance(here, problem_.shapes[static_cast<size_t>(b)].shape);
    });
    order.resize(std::min<size_t>(3, order.size()));
    std::sort(order.begin(), order.end());
    return order;
  }

  std::vector<Ask> ask_round() {
    if (round_ > 0) {
      lost_rounds_ = round_gained() ? 0 : lost_rounds_ + 1;
      remember_best();
    }
    const bool trials_spent = options_.trials > 0 && known_.size() >= static_cast<size_t>(options_.trials) + seeds_.size();
    if (round_ >= kMaxRounds || lost_rounds_ >= kPatience || trials_spent || budget_spent(kRoundsShare)) {
      stage_ = Stage::kWiden;
      return {};
    }
    ++round_;
    const size_t share = std::max<size_t>(2, kRoundConfigs / std::max<size_t>(1, probes_.size()));
    std::vector<Ask> batch;
    for (int probe : probes_) {
      // Candidates of a region: neighbours of its two fastest configs, in a seeded order.
      std::vector<Config> fresh;
      for (const Config& best : seen_.fastest(probe, 2)) {
        for (Config& config : neighbours(*problem_.space, best)) {
          if (known_.count(config) == 0 && std::find(fresh.begin(), fresh.end(), config) == fresh.end()) {
            fresh.push_back(std::move(config));
          }
        }
      }
      for (size_t taken = 0; taken < share && !fresh.empty(); ++taken) {
        const size_t pick = random_.below(fresh.size());
        known_.insert(fresh[pick]);
        add_ask(fresh[pick], region(probe), &batch);
        fresh.erase(fresh.begin() + static_cast<long>(pick));
      }
    }
    // What is the best elsewhere may be the best here as well: each region tries the winners of all others.
    for (int probe : probes_) {
      for (const Config& config : seen_.fastest(probe, 1)) add_ask(config, probes_, &batch);
    }
    batch = merge(std::move(batch));
    if (batch.empty()) stage_ = Stage::kWiden;
    return batch;
  }

  /// One ask per config: no cell may be asked twice in a batch.
  static std::vector<Ask> merge(std::vector<Ask> asks) {
    std::vector<Ask> merged;
    for (Ask& ask : asks) {
      const auto same = std::find_if(merged.begin(), merged.end(), [&](const Ask& m) { return m.config == ask.config; });
      if (same == merged.end()) {
        merged.push_back(std::move(ask));
        continue;
      }
      std::vector<int> both;
      std::set_union(same->shapes.begin(), same->shapes.end(), ask.shapes.begin(), ask.shapes.end(), std::back_inserter(both));
      same->shapes = std::move(both);
    }
    return merged;
  }

  double left_seconds() const { return std::max(0.0, options_.budget_seconds - seen_.spent_seconds()); }
  /// What one final config costs on all shapes and in the passes that follow.
  double row_seconds() const {
    const double shapes = static_cast<double>(problem_.shapes.size()) + options_.overhead_shapes;
    return shapes * seen_.mean_cell_seconds(kGuessCellSeconds);
  }

  /// Twice as many configs as will be kept (fewer on a small budget), on three times as many shapes as before.
  std::vector<Ask> ask_widen() {
    std::vector<Ask> batch;
    if (!std::exchange(widened_, true)) {
      const std::vector<int> wide = spread_subset(problem_.shapes, 3 * kProbes);
      size_t field = 2 * static_cast<size_t>(options_.final_configs);
      if (options_.budget_seconds > 0) {
        const double spare = left_seconds() - static_cast<double>(kFewestFinal) * row_seconds();
        const double config_seconds = static_cast<double>(wide.size()) * seen_.mean_cell_seconds(kGuessCellSeconds);
        field = std::min(field, static_cast<size_t>(std::max(0.0, kWidenShare * spare / config_seconds)));
      }
      if (field > kFewestFinal) {
        wide_ = wide;
        for (const Config& config : seen_.cover(probes_, field, seeds_)) {
          if (!failed_everywhere(config)) add_ask(config, wide_, &batch);
        }
      }
    }
    if (batch.empty()) stage_ = Stage::kFinal;
    return batch;
  }

  /// As many configs on every shape as the rest of the budget pays for.
  std::vector<Ask> ask_final() {
    std::vector<Ask> batch;
    if (!final_.empty()) {
      stage_ = Stage::kDone;
      return batch;
    }
    size_t count = static_cast<size_t>(options_.final_configs);
    if (options_.budget_seconds > 0) {
      count = std::clamp<size_t>(static_cast<size_t>(left_seconds() / row_seconds()), std::min(kFewestFinal, count), count);
    }
    final_ = seen_.cover(wide_.empty() ? probes_ : wide_, count, seeds_);
    const std::vector<int> all = all_shapes();
    for (const Config& config : final_) add_ask(config, all, &batch);
    return batch;
  }

  Random random_;
  Stage stage_ = Stage::kInitial;
  std::vector<int> probes_;
  std::vector<int> wide_;
  std::vector<Config> seeds_;
  std::set<Config> known_;
  std::vector<Config> queue_;
  std::vector<Config> final_;
  std::vector<double> best_before_;
  size_t next_ = 0;
  int round_ = 0;
  int lost_rounds_ = 0;
  bool space_is_small_ = false;
  bool widened_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_quick_strategy(const Problem& problem, const SearchOptions& options) {
  return std::make_unique<QuickStrategy>(problem, options);
}

}  // namespace kaon::runner
