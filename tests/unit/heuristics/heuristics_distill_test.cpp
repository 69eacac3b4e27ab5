// From measurements to a tree, judged on shapes that the fit never saw.
#include "heuristics/distill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <thread>

#include "heuristics/report.h"
#include "heuristics/tree_passes.h"
#include "runtime/base/guards.h"
#include "tests/support/depth.h"
#include "tests/unit/heuristics/synthetic.h"

namespace kaon::heuristics {
namespace {

using ::testing::HasSubstr;
using testing::SyntheticOptions;

Distilled distilled(const Measurements& m, const DistillOptions& options = {}) {
  Result<Distilled> result = distill(m, options);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return result.is_ok() ? std::move(result).value() : Distilled{};
}

std::string described(const Measurements& m, const Distilled& d) {
  std::vector<std::string> names;
  for (const VariantEvidence& v : d.tables[0].variants) {
    names.push_back(m.tables[0].configs[v.config].variant.config.to_text());
  }
  return summary_text(m, d) + tree_text(d.tables[0].tree, names);
}

struct Family {
  const char* name;
  Table (*make)(const SyntheticOptions&);
};

class DistillQuality : public ::testing::TestWithParam<std::tuple<Family, int>> {};

TEST_P(DistillQuality, ReachesTheOracleOnHeldOutShapes) {
  SyntheticOptions options;
  options.seed = static_cast<uint64_t>(std::get<1>(GetParam()));
  const Measurements m = testing::wrap(std::get<0>(GetParam()).make(options));
  const Distilled d = distilled(m);
  const DistilledTable& table = d.tables[0];
  EXPECT_LE(table.variants.size(), 8u);
  EXPECT_GE(table.tree_score[1].shapes, 40);
  EXPECT_EQ(table.tree_score[1].unscored, 0);
  EXPECT_GE(table.tree_score[1].geomean, 0.97) << described(m, d);
  EXPECT_GE(table.tree_score[1].worst, 0.87) << described(m, d);
  EXPECT_GT(table.tree_score[1].geomean, table.default_score[1].geomean);
}

INSTANTIATE_TEST_SUITE_P(Synthetic, DistillQuality,
                         ::testing::Combine(::testing::Values(Family{"capacity", testing::capacity_table},
                                                              Family{"wave", testing::wave_table},
                                                              Family{"twin", testing::twin_table},
                                                              Family{"failing", testing::failing_table}),
                                            ::testing::Range(7, depth(100, 8), 92)),
                         [](const auto& info) {
                           return std::string(std::get<0>(info.param).name) + std::to_string(std::get<1>(info.param));
                         });

TEST(Distill, WinnerFlipsBetweenTwinsDoNotBecomeNodes) {
  for (uint64_t seed : {1, 3, 5}) {
    SyntheticOptions options;
    options.seed = seed;
    const Measurements m = testing::wrap(testing::twin_table(options));
    const Distilled d = distilled(m);
    const DistilledTable& table = d.tables[0];
    // The measured winner changes from pass to pass on most shapes; the cost model has one boundary.
    EXPECT_GT(table.flips[0].any, table.flips[0].shapes / 2);
    EXPECT_EQ(table.tree.nodes.size(), 3u) << described(m, d);
    EXPECT_EQ(table.tree.features[0].name, "N");
    EXPECT_NEAR(static_cast<double>(table.tree.nodes[0].threshold), 8192, 400);
  }
}

// Whatever the leaf and the call, a variant that is picked was measured right on a shape of that leaf, or is generic.
TEST(Distill, NeverPicksAVariantThatWasNotMeasuredRightInItsLeaf) {
  for (auto make : {testing::capacity_table, testing::failing_table}) {
    const Measurements m = testing::wrap(make({}));
    const Distilled d = distilled(m);
    const DistilledTable& table = d.tables[0];
    const Table& measured = m.tables[0];
    std::vector<std::set<int>> right(table.tree.leaves.size()), failed(table.tree.leaves.size());
    for (int s = 0; s < measured.num_shapes(); ++s) {
      if (measured.shapes[s].role == Role::kHeldOut) continue;
      const int leaf = find_leaf(table.tree, measured.shapes[s].slots.data());
      for (int c = 0; c < measured.num_configs(); ++c) {
        if (measured.cell(0, c, s).measured()) right[leaf].insert(c);
        if (measured.cell(0, c, s).failed()) failed[leaf].insert(c);
      }
    }
    for (size_t leaf = 0; leaf < table.tree.leaves.size(); ++leaf) {
      const std::vector<uint16_t>& ranked = table.tree.leaves[leaf];
      EXPECT_EQ(table.variants[ranked.back()].config, measured.generic_config);
      for (size_t i = 0; i + 1 < ranked.size(); ++i) {
        const int config = table.variants[ranked[i]].config;
        EXPECT_EQ(right[leaf].count(config), 1u) << "leaf " << leaf;
        EXPECT_EQ(failed[leaf].count(config), 0u) << "leaf " << leaf;
      }
    }
  }
}

TEST(Distill, NeverSendsAShapeToAConfigThatFailedOnIt) {
  const Measurements m = testing::wrap(testing::failing_table({}));
  const Distilled d = distilled(m);
  const Table& table = m.tables[0];
  for (int s = 0; s < table.num_shapes(); ++s) {
    const int config = chosen_config(d.tables[0], table, table.shapes[s].slots.data());
    EXPECT_TRUE(table.cell(0, config, s).measured()) << shape_text(table.signature, table.shapes[s].slots);
  }
}

TEST(Distill, EveryChoiceSatisfiesItsGuards) {
  const Measurements m = testing::wrap(testing::capacity_table({}));
  const Distilled d = distilled(m);
  const Table& table = m.tables[0];
  Random random(11);
  for (int i = 0; i < 20000; ++i) {
    const int64_t rows = 1 + static_cast<int64_t>(random.below(100000));
    const int64_t columns = std::llround(std::exp2(random.uniform() * 22));
    const std::vector<int64_t> slots = contiguous_slots(table.signature, {rows, columns}, {});
    const int config = chosen_config(d.tables[0], table, slots.data());
    ASSERT_LT(first_refusing(table.signature, table.configs[config].variant.guards, slots.data()), 0);
  }
}

TEST(Distill, TrainedOnPowersOfTwoServesTheSizeJustAboveOne) {
  Table table;
  table.signature = testing::row_signature();
  for (int64_t m = 1; m <= 32768; m *= 4) {
    for (int64_t n = 128; n <= 65536; n *= 2) testing::add_shape(&table, m, n, Role::kTrain);
  }
  Config generic, resident, looped;
  generic.set("impl", 0);
  resident.set("reduce.N", "resident(4)");
  looped.set("reduce.N", "chunk(4096)");
  testing::add_config(&table, generic, {});
  testing::add_config(&table, resident, {testing::at_most(testing::kSlotN, 8192)});
  testing::add_config(&table, looped, {});
  testing::measure(&table,
                   [](const Config& config, int64_t m, int64_t n) {
                     const double base = 5 + 4e-6 * static_cast<double>(m * n);
                     if (config.get("reduce.N", "") == "resident(4)") return base;
                     return base * (config.get("reduce.N", "") == "chunk(4096)" ? 1.2 : 1.6);
                   },
                   {});
  const Measurements m = testing::wrap(std::move(table));
  const Distilled d = distilled(m);
  auto choice = [&](int64_t n) {
    const std::vector<int64_t> slots = contiguous_slots(m.tables[0].signature, {1024, n}, {});
    return chosen_config(d.tables[0], m.tables[0], slots.data());
  };
  EXPECT_EQ(choice(8192), 1);
  EXPECT_EQ(choice(8193), 2);
  EXPECT_EQ(choice(12000), 2);
  EXPECT_EQ(choice(127), 1);
}

TEST(Distill, ThresholdsSitOnCapacitiesAndRoundNumbers) {
  const Measurements m = testing::wrap(testing::wave_table({}));
  const Distilled d = distilled(m);
  const DecisionTree& tree = d.tables[0].tree;
  int on_waves = 0;
  for (const TreeNode& node : tree.nodes) {
    if (node.feature < 0 || tree.features[node.feature].name != "M") continue;
    on_waves += node.threshold % (132 * 8) == 0;
  }
  EXPECT_GE(on_waves, 2) << described(m, d);
}

TEST(Distill, IsTheSameBytesEveryTimeAndOnEveryThread) {
  const Measurements m = testing::wrap(testing::capacity_table({}));
  const std::string first = write_training(make_training(m, {}).value());
  std::vector<std::string> texts(2);
  std::vector<std::thread> threads;
  for (std::string& text : texts) {
    threads.emplace_back([&m, &text] { text = write_training(make_training(m, {}).value()); });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& text : texts) EXPECT_EQ(text, first);
  const Measurements reread = read_measurements(write_measurements(m), "m.json").value();
  EXPECT_EQ(write_training(make_training(reread, {}).value()), first);
  EXPECT_EQ(described(m, distilled(m)), described(m, distilled(reread)));
}

TEST(Distill, HeldOutCellsAndLaterPassesChangeNoChoice) {
  Measurements m = testing::wrap(testing::capacity_table({}));
  const std::string before = write_training(make_training(m, {}).value());
  Table& table = m.tables[0];
  for (int s = 0; s < table.num_shapes(); ++s) {
    for (int c = 0; c < table.num_configs(); ++c) {
      for (int p = 0; p < table.num_passes(); ++p) {
        Cell& cell = table.cell(p, c, s);
        if (cell.measured() && (p > 0 || table.shapes[s].role == Role::kHeldOut)) cell.median_ns = 1000 + 7 * c;
      }
    }
  }
  EXPECT_EQ(write_training(make_training(m, {}).value()), before);
  table.cell(0, 0, 0).median_ns += 1;
  EXPECT_NE(write_training(make_training(m, {}).value()), before);
}

TEST(Distill, RefitsFromTheTrainingTextAlone) {
  const Measurements m = testing::wrap(testing::capacity_table({}));
  const TrainingSet training = make_training(m, {}).value();
  const TrainingSet reread = read_training(write_training(training), "t.json").value();
  EXPECT_EQ(described(m, fit(m, training, {}).value()), described(m, fit(m, reread, {}).value()));
}

TEST(Distill, RefusesTrainingFromOtherMeasurements) {
  Measurements m = testing::wrap(testing::twin_table({}));
  const TrainingSet training = make_training(m, {}).value();
  m.tables[0].cell(0, 3, 0).median_ns += 100;
  EXPECT_EQ(fit(m, training, {}).status().code(), Code::kStale);
  m = testing::wrap(testing::twin_table({}));
  TrainingSet bad = training;
  bad.tables[0].kept.back() = 5;
  EXPECT_THAT(fit(m, bad, {}).status().message(), HasSubstr("must be the generic one"));
}

TEST(Distill, ExplainsTablesThatItCannotUse) {
  Measurements m = testing::wrap(testing::failing_table({}));
  for (int s = 0; s < m.tables[0].num_shapes(); ++s) m.tables[0].cell(0, 0, s) = Cell{};
  EXPECT_THAT(distill(m).status().message(), HasSubstr("was never measured right"));
  for (Shape& shape : m.tables[0].shapes) shape.role = Role::kHeldOut;
  EXPECT_THAT(distill(m).status().message(), HasSubstr("no config was measured"));
}

TEST(Distill, ManagesWithOneConfigAndWithOneShape) {
  Table table;
  table.signature = testing::row_signature();
  testing::add_shape(&table, 4, 64, Role::kTrain);
  Config config;
  config.set("vec", 1);
  testing::add_config(&table, config, {});
  testing::measure(&table, [](const Config&, int64_t, int64_t) { return 5.0; }, {});
  const Distilled d = distilled(testing::wrap(table));
  EXPECT_EQ(d.tables[0].tree.nodes.size(), 1u);
  EXPECT_EQ(d.tables[0].variants.size(), 1u);
  EXPECT_EQ(d.tables[0].variants[0].shapes_served, 1);
}

TEST(Distill, TheTeacherCanBeForcedAndSwitchedOff) {
  const Measurements m = testing::wrap(testing::capacity_table({}));
  DistillOptions options;
  options.teacher = TeacherMode::kOff;
  const Distilled off = distilled(m, options);
  EXPECT_FALSE(off.tables[0].with_teacher);
  EXPECT_TRUE(off.training.tables[0].predicted.empty());
  options.teacher = TeacherMode::kOn;
  const Distilled on = distilled(m, options);
  EXPECT_TRUE(on.tables[0].with_teacher);
  EXPECT_THAT(on.tables[0].teacher_note, HasSubstr("cross-validated regret over"));
  EXPECT_GE(on.tables[0].with_teacher_score[1].geomean, 0.97);
}

}  // namespace
}  // namespace kaon::heuristics
