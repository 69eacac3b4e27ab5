// The face of a search: it asks for configs to be tried on shapes, in batches, and is told what came out.
//
// A strategy is a function of its problem, its seed and what it was told, and of nothing else: no clock, no thread, no
// order of arrival. A run that was killed replays its stored outcomes and asks the same questions again.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aot_runner/search/observations.h"
#include "aot_runner/search/space.h"
#include "runtime/base/status.h"

namespace kaon::runner {

struct SearchOptions {
  std::string strategy = "quick";    // exhaustive | random | quick
  uint64_t seed = 1;
  int trials = 0;                    // configs beside the seeds; 0: as the strategy likes
  double budget_seconds = 0;         // of stored cost; 0: none
  int final_configs = 24;            // configs measured on every shape, at most
  int team_size = 7;                 // configs that will be kept of them, beside the generic one
  double overhead_shapes = 0;        // shapes that final configs are measured on besides: measure and held-out passes
};

struct Problem {
  const SearchSpace* space = nullptr;   // must outlive the strategy
  std::vector<WeightedShape> shapes;    // the train set
};

struct Ask {
  Config config;
  std::vector<int> shapes;  // indices into Problem::shapes, ascending
};

class Strategy {
 public:
  virtual ~Strategy() = default;
  /// The next batch; empty when the search is over. Never repeats a cell.
  virtual std::vector<Ask> ask() = 0;
  /// outcomes[i][j] answers asked[i].shapes[j].
  void tell(const std::vector<Ask>& asked, const std::vector<std::vector<Outcome>>& outcomes);
  /// Configs worth measuring on every shape; the default and the generic config are always among them. In the order of Config.
  virtual std::vector<Config> finalists() const;
  const Observations& seen() const { return seen_; }
  /// Cells that the rest of the search is expected to ask for; for progress only.
  virtual int expected_cells() const = 0;
  /// What it is doing now: "initial sample", "round 3".
  virtual std::string stage() const = 0;

 protected:
  Strategy(Problem problem, const SearchOptions& options);
  bool budget_spent(double share) const;
  std::vector<int> all_shapes() const;

  Problem problem_;
  SearchOptions options_;
  Observations seen_;
};

/// kInvalidArgument for an unknown strategy, naming those there are.
Result<std::unique_ptr<Strategy>> make_strategy(const Problem& problem, const SearchOptions& options);

std::unique_ptr<Strategy> make_list_strategy(const Problem& problem, const SearchOptions& options);
std::unique_ptr<Strategy> make_quick_strategy(const Problem& problem, const SearchOptions& options);

}  // namespace kaon::runner
