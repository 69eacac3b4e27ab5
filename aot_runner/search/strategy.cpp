#include "aot_runner/search/strategy.h"

#include <fmt/format.h>

#include <algorithm>

#include "aot_runner/search/team.h"

namespace kaon::runner {
namespace {

constexpr size_t kExhaustiveLimit = 20000;  // more configs than anyone would wait for
constexpr size_t kRandomTrials = 64;
constexpr size_t kBatch = 16;

/// Exhaustive and random search: a list of configs made up front, each tried on all shapes. Any other name: the seeds.
class ListStrategy final : public Strategy {
 public:
  ListStrategy(Problem problem, const SearchOptions& options) : Strategy(std::move(problem), options) {
    configs_ = seed_configs(*problem_.space);
    std::set<Config> known(configs_.begin(), configs_.end());
    const size_t trials = options.trials > 0 ? static_cast<size_t>(options.trials) : 0;
    std::vector<Config> more;
    if (options.strategy == "exhaustive") {
      for (Config& config : problem_.space->enumerate(trials > 0 ? trials + known.size() : kExhaustiveLimit)) {
        if (known.insert(config).second) more.push_back(std::move(config));
      }
      if (trials > 0 && more.size() > trials) more.resize(trials);
    } else if (options.strategy == "random") {
      heuristics::Random random(options.seed);
      more = sample_configs(*problem_.space, trials > 0 ? trials : kRandomTrials, &random, &known);
    }
    configs_.insert(configs_.end(), more.begin(), more.end());
  }

  std::vector<Ask> ask() override {
    std::vector<Ask> batch;
    if (budget_spent(1.0)) return batch;
    const std::vector<int> all = all_shapes();
    for (; next_ < configs_.size() && batch.size() < kBatch; ++next_) batch.push_back({configs_[next_], all});
    return batch;
  }

  int expected_cells() const override { return static_cast<int>((configs_.size() - next_) * problem_.shapes.size()); }
  std::string stage() const override { return fmt::format("config {} of {}", next_, configs_.size()); }

 private:
  std::vector<Config> configs_;
  size_t next_ = 0;
};

}  // namespace

Strategy::Strategy(Problem problem, const SearchOptions& options)
    : problem_(std::move(problem)), options_(options), seen_(problem_.shapes) {}

void Strategy::tell(const std::vector<Ask>& asked, const std::vector<std::vector<Outcome>>& outcomes) {
  for (size_t i = 0; i < asked.size(); ++i) {
    for (size_t j = 0; j < asked[i].shapes.size(); ++j) seen_.add(asked[i].config, asked[i].shapes[j], outcomes[i][j]);
  }
}

std::vector<Config> Strategy::finalists() const {
  return final_field(seen_, seed_configs(*problem_.space), static_cast<size_t>(options_.final_configs),
                     static_cast<size_t>(options_.team_size), options_.seed);
}

bool Strategy::budget_spent(double share) const {
  return options_.budget_seconds > 0 && seen_.spent_seconds() >= share * options_.budget_seconds;
}

std::vector<int> Strategy::all_shapes() const {
  std::vector<int> all(problem_.shapes.size());
  for (size_t i = 0; i < all.size(); ++i) all[i] = static_cast<int>(i);
  return all;
}

std::unique_ptr<Strategy> make_list_strategy(const Problem& problem, const SearchOptions& options) {
  return std::make_unique<ListStrategy>(problem, options);
}

Result<std::unique_ptr<Strategy>> make_strategy(const Problem& problem, const SearchOptions& options) {
  if (options.strategy == "exhaustive" || options.strategy == "random") return make_list_strategy(problem, options);
  if (options.strategy == "quick") return make_quick_strategy(problem, options);
  return Status(Code::kInvalidArgument,
                fmt::format("unknown search '{}'; known are exhaustive, random, quick", options.strategy));
}

}  // namespace kaon::runner
