// The parts between table and tree: features, costs, subsets, leaf ranking, thresholds, pruning, scores.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/evaluate.h"
#include "heuristics/features.h"
#include "heuristics/fit_tree.h"
#include "heuristics/landmarks.h"
#include "heuristics/leaf_rank.h"
#include "heuristics/source_writer.h"
#include "heuristics/subset.h"
#include "heuristics/teacher.h"
#include "heuristics/tree_passes.h"
#include "tests/unit/heuristics/synthetic.h"

namespace kaon::heuristics {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Features, ThatTellNothingApartArePrunedWithAReason) {
  Table table;
  table.signature = testing::row_signature();
  for (int64_t n : {64, 128, 136, 4096}) testing::add_shape(&table, 16, n, Role::kTrain);
  testing::add_shape(&table, 32, 512, Role::kHeldOut);
  testing::add_config(&table, Config(), {});
  table.add_pass();
  Measurements m = testing::wrap(table);
  m.derived_features = {"ceil_div(N, 4096)", "M*N*2"};
  Vocabulary vocabulary = tree_vocabulary(m, m.tables[0]);
  std::vector<std::string> names, pruned;
  for (const TreeFeature& feature : vocabulary.features) names.push_back(feature.name);
  for (const PrunedFeature& feature : vocabulary.pruned) pruned.push_back(feature.name + ": " + feature.reason);
  EXPECT_THAT(names, ElementsAre("N", "N%16"));
  EXPECT_THAT(pruned, ElementsAre("M: always 16", "M*N: orders the shapes as N does", "N%8: always 0",
                                  "ceil_div(N, 4096): always 1", "M*N*2: orders the shapes as N does"));
  m.ignored_dims = {"N"};
  m.derived_features.clear();
  EXPECT_TRUE(tree_vocabulary(m, m.tables[0]).features.empty());
}

TEST(Thresholds, AreRoundIntegersNearTheGeometricMiddle) {
  EXPECT_EQ(round_threshold(4096, 8192, {}), 6144);
  EXPECT_EQ(round_threshold(1000, 1001, {}), 1000);
  EXPECT_EQ(round_threshold(4000, 4200, {}), 4096);
  EXPECT_EQ(round_threshold(0, 1, {}), 0);
  EXPECT_EQ(round_threshold(4096, 8192, {4224, 5000, 7168}), 5000);
  EXPECT_EQ(round_threshold(4096, 8192, {8192, 2048}), 6144);
  for (int64_t low = 0; low < 300; ++low) {
    for (int64_t high = low + 1; high < 300; ++high) {
      const int64_t threshold = round_threshold(low, high, {});
      ASSERT_TRUE(low <= threshold && threshold < high) << low << ".." << high << ": " << threshold;
    }
  }
}

TEST(Landmarks, AreCapacitiesAndWholeWaves) {
  Table table;
  table.signature = testing::row_signature();
  Config config;
  config.set("num_warps", 8);
  testing::add_config(&table, config, {testing::at_most(testing::kSlotN, 7168)}, /*rows_per_block=*/4);
  const Measurements m = testing::wrap(table);
  // 2048 threads hold 8 blocks of 256; 132 multiprocessors, 4 rows a block.
  EXPECT_THAT(landmarks(m.device, table, {0}, {"M", Expr::slot(testing::kSlotM)}), ElementsAre(4224, 8448));
  EXPECT_THAT(landmarks(m.device, table, {0}, {"N", Expr::slot(testing::kSlotN)}), ElementsAre(7168));
  EXPECT_TRUE(landmarks(m.device, table, {0}, {"M*N", Expr::slot(2) * Expr::slot(3)}).empty());
}

TEST(Costs, AreZeroInsideTheNoiseAndSteepBeyondTheWorst) {
  const CostModel model{10, 0, 1.12};
  EXPECT_EQ(model.cost_micro(1.0, 0), 0);
  EXPECT_EQ(model.cost_micro(1.0099, 0), 0);
  EXPECT_NEAR(static_cast<double>(model.cost_micro(1.05, 0)), 1e6 * (std::log(1.05) - std::log(1.01)), 1);
  EXPECT_GT(model.cost_micro(1.30, 0) - model.cost_micro(1.20, 0), 3 * (model.cost_micro(1.10, 0) - model.cost_micro(1.02, 0)));
}

// Three configs; times[config][shape], 0 for absent, negative for failed.
Table table_of(const std::vector<std::vector<int>>& times) {
  Table table;
  table.signature = testing::row_signature();
  for (size_t s = 0; s < times[0].size(); ++s) testing::add_shape(&table, 1, 64 << s, Role::kTrain);
  for (size_t c = 0; c < times.size(); ++c) {
    Config config;
    config.set("impl", static_cast<int64_t>(c));
    testing::add_config(&table, config, {});
  }
  table.add_pass();
  for (size_t c = 0; c < times.size(); ++c) {
    for (size_t s = 0; s < times[c].size(); ++s) {
      Cell& cell = table.cell(0, static_cast<int>(c), static_cast<int>(s));
      if (times[c][s] < 0) cell.failure = table.add_failure(FailureKind::kFault, "illegal access");
      if (times[c][s] > 0) cell.median_ns = times[c][s];
    }
  }
  return table;
}

std::vector<int32_t> subset_of(const Table& table, int max_variants, int64_t price = 1) {
  const CostModel model{10, 0, 1.12};
  const CostTable costs(table, model);
  return choose_subset(table, costs, fitted_shapes(table, costs), {}, model, {max_variants, price});
}

TEST(Subset, IsTheCheapestOfItsSize) {
  // Config 3 is second best everywhere; 1 and 2 are each best on half.
  const Table table = table_of(
      {{2000, 2000, 2000, 2000}, {1000, 1000, 1500, 1500}, {1500, 1500, 1000, 1000}, {1050, 1050, 1050, 1050}});
  EXPECT_THAT(subset_of(table, 1), ElementsAre(0));
  EXPECT_THAT(subset_of(table, 2), ElementsAre(3, 0));
  EXPECT_THAT(subset_of(table, 3), ElementsAre(1, 2, 0));
  EXPECT_THAT(subset_of(table, 8), ElementsAre(1, 2, 0));
  EXPECT_THAT(subset_of(table, 8, /*price=*/100000), ElementsAre(3, 0));
}

TEST(Subset, TreatsTiesAsEqualAndPrefersTheLowerIndex) {
  const Table table = table_of({{1500, 1500}, {1003, 1000}, {1000, 1004}, {1001, 1001}});
  EXPECT_THAT(subset_of(table, 8), ElementsAre(1, 0));
}

TEST(Subset, NeverCountsOnFailedCells) {
  const Table table = table_of({{2000, 2000, 2000}, {1000, -1, 1000}, {1100, 1100, 1100}});
  EXPECT_THAT(subset_of(table, 2), ElementsAre(2, 0));
  EXPECT_THAT(subset_of(table, 3), ElementsAre(2, 1, 0));
}

TEST(Subset, GreedyWithSwapsFindsWhatExactSearchFinds) {
  // 24 configs, 8 needed of 8 kinds of shapes: beyond the limit of exact search.
  std::vector<std::vector<int>> times(1, std::vector<int>(16, 3000));
  for (int c = 0; c < 24; ++c) {
    std::vector<int> row;
    for (int s = 0; s < 16; ++s) row.push_back(s % 8 == c % 8 ? 1000 + 30 * (c / 8) : 2000);
    times.push_back(row);
  }
  std::vector<int32_t> kept = subset_of(table_of(times), 9);
  std::sort(kept.begin(), kept.end());
  EXPECT_THAT(kept, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8));
}

Sample sample(int shape, int64_t feature, uint32_t refused, std::vector<int64_t> costs) {
  Sample s;
  s.shape = shape;
  s.weight_permille = 1000;
  s.refused = refused;
  s.features = {feature};
  for (size_t v = 0; v < costs.size(); ++v) {
    s.states.push_back(refused >> v & 1 ? CellState::kRefused : CellState::kMeasured);
  }
  s.cost_micro = std::move(costs);
  return s;
}

TEST(LeafRanking, ChainsVariantsThroughTheirGuards) {
  // Variant 0 is best where it may run; 1 serves the rest; 2 is generic.
  const std::vector<Sample> samples = {sample(0, 1, 0b000, {0, 50, 90}), sample(1, 2, 0b000, {0, 50, 90}),
                                       sample(2, 3, 0b001, {0, 10, 90}), sample(3, 4, 0b011, {0, 0, 90})};
  GuardGroups groups(samples, 3);
  LeafStats stats(samples, groups);
  for (size_t i = 0; i < 3; ++i) stats.add(i);
  std::vector<uint16_t> chain;
  EXPECT_EQ(stats.best_chain(&chain), 1000 * 10);
  EXPECT_THAT(chain, ElementsAre(0, 1));
  stats.add(3);
  EXPECT_EQ(stats.best_chain(&chain), 1000 * (10 + 90));
  EXPECT_THAT(stats.ranked(), ElementsAre(0, 1, 2));
  stats.remove(3);
  stats.remove(2);
  stats.best_chain(&chain);
  EXPECT_THAT(chain, ElementsAre(0));
}

TEST(LeafRanking, ExcludesWhatFailedOrWasNeverMeasured) {
  std::vector<Sample> samples = {sample(0, 1, 0, {0, 0, 90}), sample(1, 2, 0, {0, 0, 90})};
  samples[1].states[0] = CellState::kFailed;
  for (Sample& s : samples) s.states[1] = CellState::kUnmeasured;
  GuardGroups groups(samples, 3);
  LeafStats stats(samples, groups);
  stats.add(0);
  stats.add(1);
  EXPECT_THAT(stats.ranked(), ElementsAre(2));
  stats.remove(1);
  EXPECT_THAT(stats.ranked(), ElementsAre(0, 2));
}

TEST(Pruning, DropsSplitsThatDoNotPay) {
  std::vector<Sample> samples;
  for (int i = 0; i < 12; ++i) {
    const int64_t small = i < 3 ? 0 : 2000, large = i < 9 ? 0 : 500000;
    samples.push_back(sample(i, 10 * (i + 1), 0, {large, i < 3 ? small + 2000 : 2000 - small, 900000}));
  }
  const GrownTree grown = grow(samples, 3, {7, 3, {}});
  const std::vector<TreeFeature> features = {{"N", Expr::slot(3)}};
  EXPECT_EQ(to_decision_tree(prune(grown, 0, 24), features).leaves.size(), 2u);
  EXPECT_EQ(to_decision_tree(prune(grown, 400000, 24), features).nodes.size(), 1u);
  EXPECT_EQ(to_decision_tree(prune(grown, 0, 1), features).nodes.size(), 1u);
}

TEST(TreeText, ShowsNodesLeavesAndNames) {
  DecisionTree tree;
  tree.features = {{"N", Expr::slot(3)}};
  tree.nodes = {{0, 4096, 1, 2, 0, 5}, {-1, 0, 0, 0, 0, 4}, {-1, 0, 0, 0, 1, 1}};
  tree.leaves = {{0, 1}, {1}};
  EXPECT_EQ(tree_text(tree, {"fast", "generic"}),
            "N <= 4096 (5 shapes)\n  leaf 0 (4 shapes): fast > generic\n  leaf 1 (1 shape): generic\n");
}

TEST(Scores, PickOnTheFirstPassAndTimeOnTheLast) {
  Table table = table_of({{1000, 2000}, {1010, 1000}});
  table.add_pass();
  table.cell(1, 0, 0).median_ns = 1030;
  table.cell(1, 1, 0).median_ns = 1000;
  table.cell(1, 0, 1).median_ns = 2000;
  table.cell(1, 1, 1).median_ns = 1000;
  // Shape 0: the oracle picked config 0, which the second pass times at 1030.
  const Score perfect = score(table, Scope::kFitted, [](int) { return 1; });
  EXPECT_EQ(perfect.shapes, 2);
  EXPECT_NEAR(perfect.geomean, std::sqrt(1.03), 1e-9);
  const Score poor = score(table, Scope::kFitted, [](int) { return 0; });
  EXPECT_NEAR(poor.worst, 0.5, 1e-9);
  EXPECT_EQ(poor.worst_shape, 1);
  EXPECT_EQ(score(table, Scope::kHeldOut, [](int) { return 0; }).shapes, 0);
  const Flips flips = count_flips(table, Scope::kFitted, CostModel{10, 0, 1.12});
  EXPECT_EQ(flips.any, 1);
  EXPECT_EQ(flips.beyond_noise, 1);
}

TEST(DenserGrid, LiesBetweenTheMeasuredShapesAndKeepsTheirRules) {
  Table table;
  table.signature = testing::row_signature();
  table.signature.requires_.push_back({Expr(1) - mod(Expr::slot(3), Expr(2)), "N % 2 == 0"});
  std::vector<int> shapes;
  for (int64_t n : {256, 1024, 8192, 65536}) {
    shapes.push_back(table.num_shapes());
    testing::add_shape(&table, 128, n, Role::kTrain);
  }
  const auto grid = denser_grid(table, shapes, 30, 5);
  EXPECT_GE(grid.size(), 20u);
  EXPECT_EQ(grid, denser_grid(table, shapes, 30, 5));
  for (const std::vector<int64_t>& slots : grid) {
    EXPECT_EQ(slots[testing::kSlotM], 128);
    EXPECT_GE(slots[testing::kSlotN], 256);
    EXPECT_LE(slots[testing::kSlotN], 65536);
    EXPECT_EQ(slots[testing::kSlotN] % 2, 0);
    EXPECT_EQ(slots, contiguous_slots(table.signature, {128, slots[testing::kSlotN]}, {}));
  }
}

TEST(SourceWriter, IndentsFillsAndNames) {
  SourceWriter out;
  out.line("a {");
  {
    SourceWriter::Indent indent(out);
    out.line("b;");
    out.line();
  }
  out.line("}");
  EXPECT_EQ(out.text(), "a {\n  b;\n\n}\n");
  EXPECT_EQ(fill("{{x}}-{{y}} {{z}}", {{"x", "1"}, {"y", "{{x}}"}}), "1-{{x}} {{z}}");
  EXPECT_EQ(identifier("M*N"), "M_times_N");
  EXPECT_EQ(identifier("N%8"), "N_mod_8");
  EXPECT_EQ(identifier("ceil_div(N, 64)"), "ceil_div_N_64");
  EXPECT_EQ(identifier("int"), "int_");
  EXPECT_EQ(identifier("8x"), "value_8x");
}

}  // namespace
}  // namespace kaon::heuristics
