// The default search on a model of a row kernel: how near it comes to the best of the whole space, at what expense.
#include <gtest/gtest.h>

#include <map>
#include <memory>

#include "aot_runner/search/regions.h"
#include "aot_runner/search/strategy.h"
#include "tests/support/depth.h"
#include "tests/unit/runner/softmax_model.h"

namespace kaon::runner {
namespace {

Config row_config(int warps, const char* row, bool stream_out = false) {
  Config config = softmax_space().default_config;
  config.set("num_warps", int64_t{warps});
  config.set("reduce.N", std::string(row));
  if (stream_out) config.set("evict.out", std::string("cs"));
  return softmax_space().normalize(config);
}

std::vector<WeightedShape> softmax_shapes() {
  std::vector<WeightedShape> shapes;
  for (int64_t n = 256; n <= 12672; n += 1024) shapes.push_back({{4096, n}, 1});
  for (int64_t m : {1, 128, 1024}) {
    for (int64_t n : {512, 4096, 16384, 65536}) shapes.push_back({{m, n}, 1});
  }
  for (int64_t m : {16, 32768}) {
    for (int64_t n : {256, 1024, 8192}) shapes.push_back({{m, n}, 1});
  }
  for (int64_t m : {128, 4096}) {
    for (int64_t n : {127, 1000, 12543}) shapes.push_back({{m, n}, 1});
  }
  for (const Shape& shape : {Shape{512, 50257}, Shape{4096, 16384}, Shape{2048, 32768}, Shape{128, 131072}})
    shapes.push_back({shape, 1});
  return shapes;
}

TEST(SoftmaxModel, AgreesWithWhatWasMeasured) {
  struct Point {
    int64_t m, n;
    int warps;
    const char* row;
    double us;
    bool stream_out = false;
  };
  const Point points[] = {{4096, 1024, 2, "resident(2)", 9.2},          {4096, 1024, 4, "resident(1)", 9.7},
                          {4096, 4096, 4, "resident(4)", 22.0},         {4096, 4096, 8, "resident(2)", 22.3},
                          {4096, 4096, 2, "resident(8)", 22.7},         {4096, 8192, 16, "resident(2)", 37.9},
                          {4096, 8192, 8, "resident(4)", 38.2},         {4096, 8192, 4, "resident(8)", 38.8},
                          {4096, 12544, 8, "resident(8)", 55.2},        {4096, 12544, 16, "resident(4)", 61.4},
                          {4096, 12544, 8, "resident(7)", 56.0},        {4096, 12544, 7, "resident(7)", 55.1},
                          {4096, 16384, 16, "resident(4)", 72.4},       {4096, 16384, 8, "resident(8)", 70.8},
                          {2048, 32768, 16, "resident(8)", 85.1},       {2048, 32768, 32, "resident(4)", 86.9},
                          {2048, 32768, 16, "chunk(16384)", 76.2, true}};
  for (const Point& p : points) {
    const Config config = row_config(p.warps, p.row, p.stream_out);
    EXPECT_NEAR(softmax_us(RowKnobs::of(config), {p.m, p.n}) / p.us, 1, 0.07)
        << config.to_text() << " on " << p.m << "x" << p.n;
  }
}

/// The best of the whole space on each shape, without noise.
const std::vector<double>& optimum() {
  static const std::vector<double> best = [] {
    const SearchSpace space = softmax_space();
    std::vector<Config> all = space.enumerate(1000000);
    all.push_back(space.normalize(space.generic_config));
    const std::vector<WeightedShape> shapes = softmax_shapes();
    std::vector<double> us(shapes.size(), HUGE_VAL);
    for (const Config& config : all) {
      const RowKnobs knobs = RowKnobs::of(config);
      for (size_t s = 0; s < shapes.size(); ++s) {
        if (space.fill(config, shapes[s].shape) <= 1) us[s] = std::min(us[s], softmax_us(knobs, shapes[s].shape));
      }
    }
    return us;
  }();
  return best;
}

struct Played {
  std::vector<Config> finalists;
  std::set<Config> configs;
  int cells = 0, wasted = 0;
  double geomean = 0, worst = 0;
};

Played play(const SearchOptions& options) {
  const SearchSpace space = softmax_space();
  const Problem problem{&space, softmax_shapes()};
  std::unique_ptr<Strategy> strategy = std::move(make_strategy(problem, options)).value();
  Played played;
  const std::vector<Config> seeds = seed_configs(space);
  for (std::vector<Ask> batch = strategy->ask(); !batch.empty(); batch = strategy->ask()) {
    std::vector<std::vector<Outcome>> outcomes;
    for (const Ask& ask : batch) {
      played.configs.insert(ask.config);
      std::vector<Outcome> row;
      for (int s : ask.shapes) {
        const Shape& shape = problem.shapes[static_cast<size_t>(s)].shape;
        row.push_back(softmax_outcome(space, ask.config, shape));
        const bool is_seed = std::find(seeds.begin(), seeds.end(), ask.config) != seeds.end();
        const double fill = space.fill(ask.config, shape);
        played.wasted += fill > 1 || (fill < 0.2 && !is_seed) ? 1 : 0;
        ++played.cells;
      }
      outcomes.push_back(row);
    }
    strategy->tell(batch, outcomes);
  }
  played.finalists = strategy->finalists();
  double sum = 0;
  for (size_t s = 0; s < problem.shapes.size(); ++s) {
    double best = HUGE_VAL;
    for (const Config& config : played.finalists) {
      if (space.fill(config, problem.shapes[s].shape) <= 1)
        best = std::min(best, softmax_us(RowKnobs::of(config), problem.shapes[s].shape));
    }
    const double ratio = best / optimum()[s];
    sum += std::log(ratio);
    if (ratio > played.worst) played.worst = ratio;
    if (ratio > 1.02) {
      testing::Test::RecordProperty("above_" + shape_text(problem.shapes[s].shape), std::to_string(ratio));
    }
  }
  played.geomean = std::exp(sum / static_cast<double>(problem.shapes.size()));
  return played;
}

TEST(Quick, FinalConfigsAreNearTheOptimumOfEveryRegion) {
  for (uint64_t seed = 1; seed <= uint64_t{depth(3, 1)}; ++seed) {
    const Played played = play({.strategy = "quick", .seed = seed, .final_configs = 28});
    RecordProperty("seed_" + std::to_string(seed), std::to_string(played.cells) + " cells, " +
                                                       std::to_string(played.configs.size()) + " configs, geomean " +
                                                       std::to_string(played.geomean) + ", worst " +
                                                       std::to_string(played.worst));
    EXPECT_LT(played.geomean, 1.01) << seed;
    EXPECT_LT(played.worst, 1.03) << seed;
    EXPECT_LT(played.cells, 5000) << seed;
    EXPECT_EQ(played.wasted, 0) << seed;
    EXPECT_GE(played.finalists.size(), 24u);
    EXPECT_LE(played.finalists.size(), 28u);
  }
}

TEST(Quick, TinyBudgetsStillServeEveryShape) {
  const Played played = play({.strategy = "quick", .seed = 1, .budget_seconds = 6, .final_configs = 28});
  EXPECT_LT(played.cells, 800);
  EXPECT_GE(played.finalists.size(), 8u);
  EXPECT_LT(played.geomean, 1.15);
}

TEST(Fitted, TakesTheCapacityThatJustCovers) {
  const SearchSpace space = softmax_space();
  const Config wide = row_config(8, "resident(16)");
  EXPECT_EQ(fitted(space, wide, {4096, 12544})->get("reduce.N", ""), "resident(7)");
  EXPECT_EQ(fitted(space, row_config(7, "resident(1)"), {4096, 12544})->get("reduce.N", ""), "resident(7)");
  EXPECT_EQ(fitted(space, row_config(1, "resident(4)"), {2048, 32768}), std::nullopt) << "no capacity of one warp";
  EXPECT_EQ(*fitted(space, row_config(4, "chunk(4096)"), {1, 64}), row_config(4, "chunk(4096)"));
}

TEST(Ladder, ShapesThatDoNotDivideGetShiftedRows) {
  const SearchSpace space = softmax_space();
  const std::vector<Config> rungs = ladder(space, {4096, 12543});
  ASSERT_FALSE(rungs.empty());
  for (const Config& config : rungs) EXPECT_EQ(config.get("shift.N", "0"), "1") << config.to_text();
}

TEST(Ladder, LongRowsThatDoNotDivideAreWalkedInShiftedChunks) {
  const SearchSpace space = softmax_space();
  std::set<std::string> rows;
  for (const Config& config : ladder(space, {2048, 50257})) {
    if (config.get("shift.N", "0") == "1") rows.insert(config.get("reduce.N", ""));
  }
  EXPECT_TRUE(rows.count("chunk(16384)") && rows.count("chunk(4096)"));
}

TEST(Moves, FromScalarsToVectorsShiftRowsThatDoNotDivide) {
  const SearchSpace space = softmax_space();
  Config scalar = space.normalize(space.generic_config);
  scalar.set("reduce.N", std::string("chunk(4096)"));
  const std::vector<Config> found = moves(space, scalar, {2048, 50257}, /*fine=*/false);
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [](const Config& config) {
    return config.get_int("vec", 1) == 8 && config.get("shift.N", "0") == "1";
  })) << "one knob alone leads from vec=1 to rows that refuse 50257";
}

TEST(WorthMeasuring, NotWhereMostThreadsIdleUnlessItIsASeed) {
  const SearchSpace space = softmax_space();
  EXPECT_TRUE(worth_measuring(space, row_config(8, "resident(8)"), {1, 12544}));
  EXPECT_FALSE(worth_measuring(space, row_config(8, "resident(8)"), {1, 1024}));
  EXPECT_TRUE(worth_measuring(space, row_config(8, "resident(8)"), {1, 1024}, kLeastFillOfFinal))
      << "what ships serves that shape";
  EXPECT_FALSE(worth_measuring(space, row_config(8, "resident(4)"), {1, 12544}));
  EXPECT_TRUE(worth_measuring(space, space.normalize(space.default_config), {1, 64}));
}

TEST(Probes, EveryKindHasSome) {
  const SearchSpace space = softmax_space();
  const std::vector<WeightedShape> shapes = softmax_shapes();
  int odd = 0;
  for (int s : probes_by_kind(space, shapes, 12)) odd += space.kind(shapes[static_cast<size_t>(s)].shape);
  EXPECT_EQ(odd, 4);
}

TEST(AskQueue, AsksEachCellOnceAndSomeOfEveryShape) {
  AskQueue queue;
  for (int warps : {1, 2, 4, 7, 8}) {
    queue.add(row_config(warps, "resident(1)"), 5);
    queue.add(row_config(warps, "resident(1)"), 3);
    queue.add(row_config(warps, "resident(1)"), 3);
  }
  EXPECT_EQ(queue.num_cells(), 10);
  const std::vector<Ask> first = queue.take(6);
  ASSERT_EQ(first.size(), 3u);
  EXPECT_EQ(first[0].shapes, (std::vector<int>{3, 5}));
  EXPECT_EQ(queue.take(6).size(), 2u);
  EXPECT_TRUE(queue.take(6).empty());
}

}  // namespace
}  // namespace kaon::runner
