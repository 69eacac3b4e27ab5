// Searches on synthetic cost functions: what they ask, what they find, that they repeat themselves exactly.
#include "aot_runner/search/strategy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace kaon::runner {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> powers(int from, int to) {
  std::vector<std::string> list;
  for (int v = from; v <= to; v *= 2) list.push_back(std::to_string(v));
  return list;
}

/// 7 x 6 x 5 x 4 x 3 points; odd products of warps and vec are illegal.
SearchSpace grid_space() {
  SearchSpace space;
  space.knobs = {{"block.m", powers(1, 64)},
                 {"num_warps", powers(1, 32)},
                 {"vec", powers(1, 16)},
                 {"unroll", powers(1, 8)},
                 {"evict.x", {"none", "first", "last"}}};
  for (const SearchKnob& knob : space.knobs) space.default_config.set(knob.name, knob.choices[0]);
  space.generic_config = space.default_config;
  space.generic_config.set("evict.x", std::string("last"));
  space.normalize = [](const Config& config) {
    Config full = config;
    for (const char* knob : {"block.m", "num_warps", "vec", "unroll"}) {
      if (full.find(knob) == nullptr) full.set(knob, int64_t{1});
    }
    return full;
  };
  space.why_illegal = [](const Config& config) {
    return config.get_int("num_warps", 1) * config.get_int("vec", 1) > 256 ? std::string("too wide") : std::string();
  };
  const SearchSpace copy = space;
  space.enumerate = [copy](size_t limit) {
    std::set<Config> all;
    size_t points = 1;
    for (const SearchKnob& knob : copy.knobs) points *= knob.choices.size();
    for (size_t p = 0; p < points; ++p) {
      Config config;
      size_t rest = p;
      for (const SearchKnob& knob : copy.knobs) {
        config.set(knob.name, knob.choices[rest % knob.choices.size()]);
        rest /= knob.choices.size();
      }
      if (copy.why_illegal(config).empty()) all.insert(config);
    }
    std::vector<Config> list(all.begin(), all.end());
    if (list.size() > limit) list.resize(limit);
    return list;
  };
  return space;
}

std::vector<WeightedShape> grid_shapes() {
  std::vector<WeightedShape> shapes;
  for (int64_t m : {1, 16, 256, 4096}) {
    for (int64_t n = 64; n <= 65536; n *= 2) shapes.push_back({{m, n}, 1});
  }
  return shapes;
}

/// Smooth with one optimum per shape: small rows want small blocks and few warps.
double cost_us(const Config& config, const Shape& shape) {
  const double n = std::log2(static_cast<double>(shape[1]));
  const double m = std::log2(static_cast<double>(shape[0]));
  const double warps = std::log2(static_cast<double>(config.get_int("num_warps", 1)));
  const double block = std::log2(static_cast<double>(config.get_int("block.m", 1)));
  const double vec = std::log2(static_cast<double>(config.get_int("vec", 1)));
  const double unroll = std::log2(static_cast<double>(config.get_int("unroll", 1)));
  double slow =
      1 + 0.15 * std::pow(warps - (n - 6) / 2, 2) + 0.1 * std::pow(block - m / 2, 2) + 0.08 * std::pow(vec - 3, 2);
  slow += 0.02 * std::pow(unroll - 1, 2) + (config.get("evict.x", "none") == "first" ? 0 : 0.02);
  return slow * (2 + static_cast<double>(shape[0] * shape[1]) * 1e-5);
}

Outcome answer(const Config& config, const Shape& shape) {
  if (config.get_int("vec", 1) == 16 && shape[1] < 128) return {Outcome::Kind::kExcluded, 0, 0};
  if (config.get_int("block.m", 1) == 64 && shape[0] == 1) return {Outcome::Kind::kFailed, 0, 0.01};
  return {Outcome::Kind::kTimed, cost_us(config, shape), 0.01};
}

struct Transcript {
  std::vector<std::pair<Config, std::vector<int>>> asked;
  std::vector<Config> finalists;
  int cells = 0;
  double spent = 0;
};

Transcript transcript_of(const SearchOptions& options) {
  const SearchSpace space = grid_space();
  const Problem problem{&space, grid_shapes()};
  std::unique_ptr<Strategy> strategy = std::move(make_strategy(problem, options)).value();
  Transcript transcript;
  std::set<std::pair<Config, int>> cells;
  for (std::vector<Ask> batch = strategy->ask(); !batch.empty(); batch = strategy->ask()) {
    std::vector<std::vector<Outcome>> outcomes;
    for (const Ask& ask : batch) {
      EXPECT_TRUE(space.why_illegal(ask.config).empty()) << ask.config.to_text();
      std::vector<Outcome> row;
      for (int s : ask.shapes) {
        EXPECT_TRUE(cells.emplace(ask.config, s).second) << "a cell was asked twice: " << ask.config.to_text();
        row.push_back(answer(ask.config, problem.shapes[static_cast<size_t>(s)].shape));
      }
      outcomes.push_back(row);
      transcript.asked.emplace_back(ask.config, ask.shapes);
    }
    strategy->tell(batch, outcomes);
  }
  transcript.cells = static_cast<int>(cells.size());
  transcript.finalists = strategy->finalists();
  transcript.spent = strategy->seen().spent_seconds();
  return transcript;
}

/// Geometric mean, over the shapes, of the best of `configs` over the best of the whole space.
double slowdown(const std::vector<Config>& configs) {
  const std::vector<Config> all = grid_space().enumerate(100000);
  double sum = 0;
  const std::vector<WeightedShape> shapes = grid_shapes();
  for (const WeightedShape& s : shapes) {
    const auto best_of = [&](const std::vector<Config>& list) {
      double best = 1e300;
      for (const Config& c : list) {
        const Outcome o = answer(c, s.shape);
        if (o.kind == Outcome::Kind::kTimed) best = std::min(best, o.time_us);
      }
      return best;
    };
    sum += std::log(best_of(configs) / best_of(all));
  }
  return std::exp(sum / static_cast<double>(shapes.size()));
}

TEST(Search, ExhaustiveAsksEveryLegalConfigOnEveryShape) {
  const Transcript t = transcript_of({.strategy = "exhaustive"});
  const size_t legal = grid_space().enumerate(100000).size();
  EXPECT_EQ(t.asked.size(), legal);
  EXPECT_EQ(t.cells, static_cast<int>(legal * grid_shapes().size()));
  EXPECT_LE(t.finalists.size(), 24u);
  EXPECT_LT(slowdown(t.finalists), 1.03);
}

TEST(Search, RandomAsksAsManyTrialsAsToldWithoutRepeats) {
  const Transcript t = transcript_of({.strategy = "random", .trials = 40});
  std::set<Config> distinct;
  for (const auto& [config, shapes] : t.asked) distinct.insert(config);
  EXPECT_EQ(t.asked.size(), 42u);  // and the two seeds
  EXPECT_EQ(distinct.size(), 42u);
}

TEST(Search, RandomUsesEveryChoiceOfEveryKnob) {
  const Transcript t = transcript_of({.strategy = "random", .trials = 40});
  for (const SearchKnob& knob : grid_space().knobs) {
    std::set<std::string> used;
    for (const auto& [config, shapes] : t.asked) used.insert(config.get(knob.name, ""));
    for (const std::string& choice : knob.choices) EXPECT_TRUE(used.count(choice)) << knob.name << "=" << choice;
  }
}

TEST(Search, QuickFindsNearlyTheBestWithATenthOfTheCells) {
  const Transcript t = transcript_of({.strategy = "quick"});
  const int all = static_cast<int>(grid_space().enumerate(100000).size() * grid_shapes().size());
  EXPECT_LT(t.cells, all / 10);
  EXPECT_LT(slowdown(t.finalists), 1.04);
}

TEST(Search, QuickKeepsToItsBudgetOfStoredSeconds) {
  const Transcript t = transcript_of({.strategy = "quick", .budget_seconds = 8});
  EXPECT_LT(t.spent, 8 * 1.15);
  EXPECT_GE(t.finalists.size(), 8u);
  const Transcript more = transcript_of({.strategy = "quick", .budget_seconds = 30});
  EXPECT_GT(more.cells, t.cells);
}

TEST(Search, SeedsAreAlwaysFinalists) {
  for (const char* name : {"exhaustive", "random", "quick"}) {
    const Transcript t = transcript_of({.strategy = name, .trials = 20, .final_configs = 4});
    for (const Config& seed : seed_configs(grid_space())) {
      EXPECT_TRUE(std::find(t.finalists.begin(), t.finalists.end(), seed) != t.finalists.end()) << name;
    }
    EXPECT_TRUE(std::is_sorted(t.finalists.begin(), t.finalists.end())) << name;
  }
}

TEST(Search, SameSeedAsksTheSameAndAnotherSeedAsksOther) {
  for (const char* name : {"random", "quick"}) {
    const Transcript a = transcript_of({.strategy = name, .seed = 5});
    EXPECT_EQ(a.asked, transcript_of({.strategy = name, .seed = 5}).asked) << name;
    EXPECT_NE(a.asked, transcript_of({.strategy = name, .seed = 6}).asked) << name;
  }
}

TEST(Search, FinalistsAreMeasuredOnEveryShapeByQuick) {
  const Transcript t = transcript_of({.strategy = "quick"});
  for (const Config& config : t.finalists) {
    std::set<int> shapes;
    for (const auto& [asked, where] : t.asked) {
      if (asked == config) shapes.insert(where.begin(), where.end());
    }
    EXPECT_EQ(shapes.size(), grid_shapes().size()) << config.to_text();
  }
}

TEST(Search, UnknownStrategyNamesTheKnown) {
  const SearchSpace space = grid_space();
  const auto strategy = make_strategy({&space, grid_shapes()}, {.strategy = "clever"});
  ASSERT_FALSE(strategy.is_ok());
  EXPECT_THAT(strategy.status().message(), HasSubstr("exhaustive, random, quick"));
}

TEST(Moves, TurnOneKnobAndStayLegal) {
  const SearchSpace space = grid_space();
  Config at = space.default_config;
  at.set("num_warps", int64_t{32});
  at.set("vec", int64_t{8});
  for (const bool fine : {false, true}) {
    const std::vector<Config> near = moves(space, at, {4096, 1024}, fine);
    EXPECT_FALSE(near.empty());
    EXPECT_TRUE(std::is_sorted(near.begin(), near.end()));
    for (const Config& config : near) {
      std::vector<std::string> moved;
      for (const SearchKnob& knob : space.knobs) {
        if (config.get(knob.name, "") != at.get(knob.name, "")) moved.push_back(knob.name);
      }
      ASSERT_EQ(moved.size(), 1u) << config.to_text();
      EXPECT_EQ(is_fine_knob(moved[0]), fine) << config.to_text();
      EXPECT_NE(config.get_int("vec", 0), 16) << "illegal together with 32 warps";
    }
  }
}

TEST(Cover, TakesComplementaryConfigsBeforeGoodTwins) {
  std::vector<WeightedShape> shapes = {{{1}, 1}, {{2}, 1}};
  Observations seen(shapes);
  const auto add = [&](const char* name, double first, double second) {
    Config config;
    config.set("k", std::string(name));
    seen.add(config, 0, {Outcome::Kind::kTimed, first, 0});
    seen.add(config, 1, {Outcome::Kind::kTimed, second, 0});
    return config;
  };
  const Config a = add("a", 1.0, 9.0);
  add("b", 1.001, 9.0);
  const Config c = add("c", 9.0, 1.0);
  EXPECT_THAT(seen.cover({0, 1}, 2, {}), ::testing::UnorderedElementsAre(a, c));
}

}  // namespace
}  // namespace kaon::runner
