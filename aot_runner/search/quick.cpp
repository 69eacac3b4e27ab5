// The default search, region by region: configs whose capacity just covers a shape, one knob at a time around what is
// fastest there, cache hints on the winners, few configs on many shapes, then what makes a better team of the few that
// ship. Sized so that a hundred shapes take minutes.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "aot_runner/search/regions.h"
#include "aot_runner/search/strategy.h"
#include "aot_runner/search/team.h"

namespace kaon::runner {
namespace {

constexpr int kProbes = 24;       // shapes that stand for their regions
constexpr size_t kSample = 24;    // configs from anywhere, lest a corner of the space be never seen
constexpr int kSampleProbes = 8;  // shapes that those are tried on
constexpr size_t kWholeLadder = 1000;
constexpr size_t kMovesOfBest = 14;  // per region and round
constexpr size_t kMovesOfSecond = 6;
constexpr size_t kPolished = 3;  // winners of a region whose fine knobs are turned
constexpr int kMaxRounds = 8;
constexpr int kPolishRounds = 2;
constexpr double kGain = 1.007;        // a round that speeds a region up by less is lost for it
constexpr int kPatience = 2;           // lost rounds in a row before a region is settled
constexpr double kLadderShare = 0.32;  // of the budget
constexpr double kRoundsShare = 0.46;
constexpr double kPolishShare = 0.52;
constexpr double kWidenShare = 0.3;  // of what is left after the final configs were paid for
constexpr int kTeamRounds = 6;
constexpr size_t kMovesOfMember = 16;  // per round
constexpr size_t kRising = 24;         // configs per round that are tried on all shapes
constexpr size_t kSmallSpace = 24;     // legal configs that are simply all tried
constexpr double kGuessCellSeconds = 0.02;
constexpr size_t kFewestFinal = 8;
constexpr int kBatchCells = 256;  // between two looks at the budget

class QuickStrategy final : public Strategy {
 public:
  QuickStrategy(Problem problem, const SearchOptions& options)
      : Strategy(std::move(problem), options), random_(options.seed) {
    probes_ = probes_by_kind(*problem_.space, problem_.shapes, kProbes);
    settled_.assign(probes_.size(), 0);
    seeds_ = seed_configs(*problem_.space);
    for (const Config& config : seeds_) add(config, probes_);
    std::vector<Config> small = problem_.space->enumerate(kSmallSpace + 1);
    if (small.size() <= kSmallSpace) {
      for (const Config& config : small) add(config, probes_);
      space_is_small_ = true;
      return;
    }
    for (int probe : probes_) add_ladder(probe);
    const std::vector<int> spread = probes_by_kind(*problem_.space, problem_.shapes, kSampleProbes);
    std::set<Config> known(seeds_.begin(), seeds_.end());
    for (const Config& config : sample_configs(*problem_.space, kSample, &random_, &known)) add(config, spread);
  }

  std::vector<Ask> ask() override {
    for (;;) {
      std::vector<Ask> batch = next_batch();
      if (!batch.empty()) return batch;
      if (stage_ == Stage::kDone) return {};
      advance();
    }
  }

  std::vector<Config> finalists() const override {
    std::vector<Config> sorted = final_;
    std::sort(sorted.begin(), sorted.end());
    return sorted;
  }

  int expected_cells() const override {
    const int final_cells = options_.final_configs * static_cast<int>(problem_.shapes.size());
    const int round_cells = static_cast<int>((kMovesOfBest + kMovesOfSecond) * probes_.size());
    switch (stage_) {
      case Stage::kLadder: return queue_.num_cells() + 4 * round_cells + final_cells;
      case Stage::kRounds: return queue_.num_cells() + 2 * round_cells + final_cells;
      case Stage::kPolish: return queue_.num_cells() + round_cells + final_cells;
      case Stage::kWiden: return queue_.num_cells() + round_cells + final_cells;
      case Stage::kTeam: return queue_.num_cells() + final_cells;
      default: return queue_.num_cells();
    }
  }

  std::string stage() const override {
    switch (stage_) {
      case Stage::kLadder: return "capacities and warps";
      case Stage::kRounds: return fmt::format("one knob at a time, round {}", round_);
      case Stage::kPolish: return "cache hints";
      case Stage::kWiden: return "fewer configs, more shapes";
      case Stage::kTeam: return "a team for all shapes";
      default: return "final configs on all shapes";
    }
  }

 private:
  enum class Stage : uint8_t { kLadder, kRounds, kPolish, kWiden, kTeam, kFinal, kDone };

  const Shape& shape(int index) const { return problem_.shapes[static_cast<size_t>(index)].shape; }

  /// Queues the cells of `given` on `shapes` that were not asked before and may tell something. A config that is to
  /// serve many shapes is looked at as it would ship, with bodies for rows of other lengths.
  void add(const Config& given, const std::vector<int>& shapes) {
    const bool is_seed = std::find(seeds_.begin(), seeds_.end(), given) != seeds_.end();
    const Config config = stage_ < Stage::kWiden || is_seed ? given : widened(*problem_.space, given);
    if (stage_ != Stage::kFinal && !may_try(config)) return;
    for (int s : shapes) {
      if (seen_.at(config, s).kind != Outcome::Kind::kUnknown) continue;
      if (worth_measuring(*problem_.space, config, shape(s))) queue_.add(config, s);
    }
  }

  /// Whether the number of trials allows another config.
  bool may_try(const Config& config) {
    const size_t most = static_cast<size_t>(options_.trials) + seeds_.size();
    if (options_.trials > 0 && tried_.size() >= most && tried_.count(config) == 0) return false;
    tried_.insert(config);
    return true;
  }

  /// What to ask next of the queue; a stage that has spent its share of the budget forgets the rest of it.
  std::vector<Ask> next_batch() {
    double share = 0;
    if (stage_ == Stage::kLadder) share = kLadderShare;
    if (stage_ == Stage::kRounds) share = kRoundsShare;
    if (stage_ == Stage::kPolish) share = kPolishShare;
    if (stage_ == Stage::kTeam && options_.budget_seconds > 0) {
      share = 1 - options_.final_configs * row_seconds() / options_.budget_seconds;
      if (share <= 0) queue_.clear();
    }
    // The seeds are measured whatever the budget: there is no table without them.
    if (share > 0 && seen_.spent_seconds() > 0 && budget_spent(share)) queue_.clear();
    int cells = kBatchCells;
    if (options_.budget_seconds > 0) {
      const double whole = options_.budget_seconds / seen_.mean_cell_seconds(kGuessCellSeconds);
      cells = std::clamp(static_cast<int>(whole / 24), 24, kBatchCells);
    }
    return queue_.take(stage_ == Stage::kFinal || stage_ == Stage::kWiden ? queue_.num_cells() : cells);
  }

  /// Goes on when the queue is empty: another round of the stage, or the next stage.
  void advance() {
    switch (stage_) {
      case Stage::kLadder:
        stage_ = space_is_small_ ? Stage::kWiden : Stage::kRounds;
        if (!space_is_small_) remember_best();
        break;
      case Stage::kRounds: add_round(); break;
      case Stage::kPolish: add_polish(); break;
      case Stage::kWiden: add_widen(); break;
      case Stage::kTeam: add_team(); break;
      case Stage::kFinal: add_final(); break;
      case Stage::kDone: break;
    }
  }

  void remember_best() {
    best_before_.clear();
    for (int p : probes_) best_before_.push_back(seen_.best_us(p));
  }

  /// Queues up to `count` of `candidates` on `probe`, in a seeded order.
  void add_some(std::vector<Config> candidates, int probe, size_t count) {
    std::erase_if(candidates, [&](const Config& c) { return seen_.at(c, probe).kind != Outcome::Kind::kUnknown; });
    for (size_t taken = 0; taken < count && !candidates.empty(); ++taken) {
      const size_t pick = random_.below(candidates.size());
      add(candidates[pick], {probe});
      candidates.erase(candidates.begin() + static_cast<long>(pick));
    }
  }

  /// Queues the ladder of `probe`: one of each way to walk a row with each number of warps first, so that a small
  /// budget leaves out depth and not a way.
  void add_ladder(int probe) {
    std::map<std::pair<std::string, std::string>, std::vector<Config>> ways;
    for (Config& rung : ladder(*problem_.space, shape(probe))) {
      ways[{row_way(rung), rung.get("num_warps", "")}].push_back(std::move(rung));
    }
    std::vector<Config> rest;
    for (auto& [way, rungs] : ways) {
      const size_t first = random_.below(rungs.size());
      add(rungs[first], {probe});
      rungs.erase(rungs.begin() + static_cast<long>(first));
      rest.insert(rest.end(), rungs.begin(), rungs.end());
    }
    add_some(std::move(rest), probe, kWholeLadder);
  }

  void add_round() {
    for (size_t i = 0; round_ > 0 && i < probes_.size(); ++i) {
      const bool gained = best_before_[i] > seen_.best_us(probes_[i]) * kGain;
      settled_[i] = gained ? 0 : settled_[i] + 1;
    }
    remember_best();
    ++round_;
    if (round_ <= kMaxRounds && !budget_spent(kRoundsShare)) {
      for (size_t i = 0; i < probes_.size(); ++i) {
        const int probe = probes_[i];
        // What is the best of a neighbour may be the best here as well, once its capacity fits.
        for (int other : nearest(problem_.shapes, probes_, probe, 4)) {
          for (const Config& config : seen_.fastest(other, 1)) {
            if (const auto fit = fitted(*problem_.space, config, shape(probe))) add(*fit, {probe});
          }
        }
        if (settled_[i] >= kPatience) continue;
        const std::vector<Config> best = seen_.fastest(probe, 2);
        for (size_t b = 0; b < best.size(); ++b) {
          add_some(moves(*problem_.space, best[b], shape(probe), /*fine=*/false), probe,
                   b == 0 ? kMovesOfBest : kMovesOfSecond);
        }
      }
    }
    if (queue_.num_cells() == 0) {
      stage_ = Stage::kPolish;
      round_ = 0;
    }
  }

  /// The fastest configs on `probe`, and the fastest of each other way to walk a row: hints help some more than others.
  std::vector<Config> winners(int probe) const {
    std::vector<Config> chosen;
    std::set<std::string> ways;
    for (const Config& config : seen_.fastest(probe, seen_.rows().size())) {
      const bool is_new = ways.insert(row_way(config)).second;
      if (is_new || chosen.size() < kPolished) chosen.push_back(config);
    }
    return chosen;
  }

  void add_polish() {
    if (round_++ < kPolishRounds) {
      for (int probe : probes_) {
        for (const Config& best : winners(probe)) {
          for (const Config& config : moves(*problem_.space, best, shape(probe), /*fine=*/true)) add(config, {probe});
        }
      }
    }
    if (queue_.num_cells() == 0) stage_ = Stage::kWiden;
  }

  double left_seconds() const { return std::max(0.0, options_.budget_seconds - seen_.spent_seconds()); }

  /// What one final config costs on all shapes and in the passes that follow, when it serves the share that those seen
  /// do.
  double row_seconds() const {
    const double shapes = static_cast<double>(problem_.shapes.size()) + options_.overhead_shapes;
    return shapes * served_share() * seen_.mean_cell_seconds(kGuessCellSeconds);
  }

  double served_share() const {
    size_t all = 0, worth = 0;
    for (const auto& [config, row] : seen_.rows()) {
      for (size_t s = 0; s < problem_.shapes.size(); ++s) {
        ++all;
        worth += worth_measuring(*problem_.space, config, problem_.shapes[s].shape) ? 1 : 0;
      }
    }
    return all == 0 ? 1 : std::max(0.05, static_cast<double>(worth) / static_cast<double>(all));
  }

  /// Twice as many configs as will be kept (fewer on a small budget), and the winners of each shape's neighbours fitted
  /// to it, on every shape of the problem.
  void add_widen() {
    if (std::exchange(widened_, true)) {
      stage_ = Stage::kTeam;
      round_ = 0;
      return;
    }
    const std::vector<int> all = all_shapes();
    size_t field = 2 * static_cast<size_t>(options_.final_configs);
    if (options_.budget_seconds > 0) {
      const double spare = left_seconds() - static_cast<double>(kFewestFinal) * row_seconds();
      const double config_seconds =
          static_cast<double>(all.size()) * served_share() * seen_.mean_cell_seconds(kGuessCellSeconds);
      field = std::min(field, static_cast<size_t>(std::max(0.0, kWidenShare * spare / config_seconds)));
    }
    if (field <= kFewestFinal) return;
    for (int s : all) {
      for (int probe : nearest(problem_.shapes, probes_, s, 2)) {
        if (problem_.space->kind_of(shape(probe)) != problem_.space->kind_of(shape(s))) continue;
        for (const Config& config : seen_.fastest(probe, 1)) {
          if (const auto fit = fitted(*problem_.space, config, shape(s))) add(*fit, {s});
        }
      }
    }
    for (const Config& config : seen_.cover(probes_, field, seeds_)) {
      if (!seen_.failed_everywhere(config)) add(config, all);
    }
  }

  std::vector<Config> team() const {
    const std::vector<double> as_they_are(problem_.shapes.size(), 1.0);
    std::vector<Config> members = best_team(seen_, seeds_, static_cast<size_t>(options_.team_size), as_they_are);
    members.insert(members.end(), seeds_.begin(), seeds_.end());
    return members;
  }

  /// By turns: variations of the team's members on a few shapes, and those that keep up on all of them.
  void add_team() {
    while (queue_.num_cells() == 0 && round_ < 2 * kTeamRounds) {
      const std::vector<Config> members = team();
      const bool fine = round_ >= 2 * kTeamRounds - 2;
      if (round_++ % 2 == 0) {
        for (const Ask& ask : team_moves(*problem_.space, seen_, members, kMovesOfMember, fine, &random_)) {
          add(ask.config, ask.shapes);
        }
      } else {
        for (const Config& config : rising(*problem_.space, seen_, members, kRising)) add(config, all_shapes());
      }
    }
    if (queue_.num_cells() == 0) stage_ = Stage::kFinal;
  }

  /// As many configs on every shape as the rest of the budget pays for.
  void add_final() {
    if (!final_.empty()) {
      stage_ = Stage::kDone;
      return;
    }
    size_t count = static_cast<size_t>(options_.final_configs);
    if (options_.budget_seconds > 0) {
      count =
          std::clamp<size_t>(static_cast<size_t>(left_seconds() / row_seconds()), std::min(kFewestFinal, count), count);
    }
    final_ = final_field(seen_, seeds_, count, static_cast<size_t>(options_.team_size), options_.seed);
    for (Config& config : final_) {
      if (std::find(seeds_.begin(), seeds_.end(), config) == seeds_.end()) config = widened(*problem_.space, config);
    }
    std::sort(final_.begin(), final_.end());
    final_.erase(std::unique(final_.begin(), final_.end()), final_.end());
    for (const Config& config : final_) add(config, all_shapes());
  }

  heuristics::Random random_;
  Stage stage_ = Stage::kLadder;
  AskQueue queue_;
  std::vector<int> probes_;
  std::vector<int> settled_;  // lost rounds in a row, per probe
  std::vector<Config> seeds_;
  std::set<Config> tried_;
  std::vector<Config> final_;
  std::vector<double> best_before_;
  int round_ = 0;
  bool space_is_small_ = false;
  bool widened_ = false;
};

}  // namespace

std::unique_ptr<Strategy> make_quick_strategy(const Problem& problem, const SearchOptions& options) {
  return std::make_unique<QuickStrategy>(problem, options);
}

}  // namespace kaon::runner
