// The choice of few configs: is it the best one, and what does it make of cells that nobody measured?
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/cover.h"
#include "heuristics/distill.h"
#include "heuristics/subset.h"
#include "tests/unit/heuristics/synthetic.h"

namespace kaon::heuristics {
namespace {

using ::testing::ElementsAre;

struct Matrix {
  std::vector<std::vector<int64_t>> columns;
  std::vector<int64_t> weights;
  std::vector<int32_t> candidates;
};

// Configs with a sweet spot on a line of shapes and an uneven slope away from it; column 0 is the base.
Matrix random_matrix(uint64_t seed, int columns, int rows) {
  Random random(seed);
  Matrix matrix;
  for (int c = 0; c < columns; ++c) {
    const int spot = static_cast<int>(random.below(static_cast<uint64_t>(rows)));
    const int64_t left = 5 + static_cast<int64_t>(random.below(60)), right = 5 + static_cast<int64_t>(random.below(60));
    std::vector<int64_t> column;
    for (int i = 0; i < rows; ++i) {
      const int64_t away = i < spot ? (spot - i) * left : (i - spot) * right;
      column.push_back(c == 0 ? 2000 : away + static_cast<int64_t>(random.below(25)));
    }
    matrix.columns.push_back(std::move(column));
    if (c > 0) matrix.candidates.push_back(c);
  }
  for (int i = 0; i < rows; ++i) matrix.weights.push_back(1 + static_cast<int64_t>(random.below(3)));
  return matrix;
}

int64_t cheapest(const Cover& cover, size_t from, int left, std::vector<int32_t>* current) {
  int64_t best = cover.objective(*current);
  if (left == 0) return best;
  for (size_t i = from; i < cover.candidates().size(); ++i) {
    current->push_back(cover.candidates()[i]);
    best = std::min(best, cheapest(cover, i + 1, left - 1, current));
    current->pop_back();
  }
  return best;
}

TEST(Cover, FindsTheBestSetWhereSwapsFromTheGreedyOneGetStuck) {
  for (uint64_t seed = 1; seed <= 12; ++seed) {
    Matrix m = random_matrix(seed, 31, 40);
    const Cover cover(m.columns, m.weights, 0, m.candidates, 1);
    std::vector<int32_t> none;
    EXPECT_EQ(cover.objective(cover.best(5)), cheapest(cover, 0, 5, &none)) << "seed " << seed;
  }
}

TEST(Cover, TakesFewerThanAllowedWhereOneMoreDoesNotPay) {
  const Cover cover({{90, 90}, {10, 10}, {10, 9}}, {1, 1}, 0, {1, 2}, 5);
  EXPECT_THAT(cover.best(2), ElementsAre(2));
  EXPECT_THAT(Cover({{3, 2}, {1, 1}}, {1, 1}, 0, {1}, 5).best(1), ElementsAre());
}

// Shapes of one row and 64, 128, ... columns; times[config][shape], 0 for absent. Config 0 is generic.
Table row_table(const std::vector<std::vector<int>>& times) {
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
      table.cell(0, static_cast<int>(c), static_cast<int>(s)).median_ns = times[c][s];
    }
  }
  return table;
}

TEST(MissingCells, CostAtMostWhatALargerShapeTook) {
  const Table table = row_table({{9000, 9000, 9000, 9000}, {1000, 1000, 1000, 1000}, {0, 0, 1200, 1000}, {1000, 0, 0, 0}});
  const CostModel model{10, 0, 1.12};
  const CostTable costs(table, model);
  EXPECT_EQ(costs.state(0, 2), CellState::kUnmeasured);
  EXPECT_EQ(costs.cost_micro(0, 2), 0) << "1024 columns took no longer than the fastest";
  EXPECT_EQ(costs.cost_micro(1, 3), costs.cost_micro(1, 0)) << "a smaller shape tells nothing of a larger one";
}

TEST(MissingCells, OfHeldOutShapesTellNothing) {
  Table table = row_table({{9000, 9000}, {1000, 1000}, {0, 1000}});
  table.shapes[1].role = Role::kHeldOut;
  const CostTable costs(table, {10, 0, 1.12});
  EXPECT_EQ(costs.cost_micro(0, 2), costs.cost_micro(0, 0));
}

TEST(MissingCells, CondemnNoConfigInTheChoice) {
  // Config 1 is the best wherever it was measured, and cannot be slow where it was not; config 3 is mediocre everywhere.
  const Table table = row_table({{5000, 5000, 5000, 5000, 5000},
                                 {0, 0, 1000, 1000, 1000},
                                 {1000, 1000, 0, 0, 0},
                                 {1100, 1100, 1150, 1150, 1150}});
  const CostModel model{10, 0, 1.12};
  const CostTable costs(table, model);
  EXPECT_THAT(choose_subset(table, costs, fitted_shapes(table, costs), {}, model, {2, 1}), ElementsAre(1, 0));
}

// A config that a search did not measure below a fifth of its capacity, beside one that is hopeless on short rows.
TEST(MissingCells, DoNotHandShapesToTheGenericConfig) {
  Table table;
  table.signature = testing::row_signature();
  for (int64_t m : {1, 64, 512, 4096, 32768}) {
    for (int64_t n : {64, 128, 256, 512, 1024, 2048, 4096, 8192}) testing::add_shape(&table, m, n, Role::kTrain);
  }
  Config generic, resident, chunked;
  generic.set("impl", 0);
  resident.set("impl", 1);
  chunked.set("impl", 2);
  testing::add_config(&table, generic, {});
  testing::add_config(&table, resident, {testing::at_most(testing::kSlotN, 1024)});
  testing::add_config(&table, chunked, {});
  testing::measure(
      &table,
      [](const Config& config, int64_t m, int64_t n) {
        const double ideal = 2 + 1e-5 * static_cast<double>(m * n);
        if (config.get_int("impl", 0) == 0) return 5 * ideal;
        return config.get_int("impl", 0) == 1 ? ideal : ideal * (n > 1024 ? 1.0 : 30.0);
      },
      {});
  for (int s = 0; s < table.num_shapes(); ++s) {
    if (table.shapes[s].slots[testing::kSlotN] >= 256) continue;
    table.cell(0, 1, s) = table.cell(1, 1, s) = {};
  }
  const Measurements m = testing::wrap(std::move(table));
  Result<Distilled> d = distill(m);
  ASSERT_TRUE(d.is_ok()) << d.status().message();
  for (int s = 0; s < m.tables[0].num_shapes(); ++s) {
    const std::vector<int64_t>& slots = m.tables[0].shapes[s].slots;
    EXPECT_NE(chosen_config(d->tables[0], m.tables[0], slots.data()), 0) << shape_text(m.tables[0].signature, slots);
  }
}

}  // namespace
}  // namespace kaon::heuristics
