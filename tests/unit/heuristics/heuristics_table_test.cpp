// Measurements as text: read back as written, small, and precise about what is wrong with them.
#include "heuristics/table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "heuristics/expr_text.h"
#include "heuristics/training.h"
#include "tests/unit/heuristics/synthetic.h"

namespace kaon::heuristics {
namespace {

using testing::add_config;
using testing::add_shape;
using ::testing::HasSubstr;
using testing::measure;
using testing::row_signature;
using testing::wrap;

// Two configs on three shapes, one cell failed, one refused by a guard.
Measurements tiny() {
  Table table;
  table.signature = row_signature();
  table.signature.requires_.push_back({mod(Expr::slot(3), Expr(2)) + Expr(1), "N % 2 == 0"});
  add_shape(&table, 4, 64, Role::kTrain);
  add_shape(&table, 4, 100, Role::kMeasure, 2.5);
  add_shape(&table, 8, 4096, Role::kHeldOut);
  Config generic, vector;
  generic.set("vec", 1);
  vector.set("vec", 8);
  vector.set("reduce.N", "resident(2)");
  add_config(&table, generic, {});
  add_config(&table, vector, {testing::divisible(testing::kSlotN, 8), testing::at_most(testing::kSlotN, 4096)});
  table.configs[1].variant.plan.steps.insert(table.configs[1].variant.plan.steps.begin(), {StepKind::kZero, 1});
  measure(&table,
          [](const Config& config, int64_t, int64_t n) {
            if (n == 4096 && config.get_int("vec", 1) == 8) return -1.0;
            return 5.0 + static_cast<double>(n) / 100;
          },
          {});
  return wrap(std::move(table));
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "the text has no " << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

std::string error_of(const std::string& text) {
  Result<Measurements> result = read_measurements(text, "m.json");
  EXPECT_FALSE(result.is_ok());
  return result.is_ok() ? "" : result.status().message();
}

TEST(Measurements, ReadBackAsWritten) {
  const Measurements m = tiny();
  const std::string text = write_measurements(m);
  Result<Measurements> back = read_measurements(text, "m.json");
  ASSERT_TRUE(back.is_ok()) << back.status().message();
  EXPECT_EQ(write_measurements(*back), text);
  const Table& table = back->tables[0];
  EXPECT_EQ(table.dtype_key(), "f16");
  EXPECT_EQ(table.shapes[1].weight, 2.5);
  EXPECT_EQ(table.configs[1].variant.guards.size(), 2u);
  EXPECT_EQ(table.configs[1].variant.plan.steps[0].kind, StepKind::kZero);
  EXPECT_TRUE(table.cell(0, 1, 2).failed());
  EXPECT_EQ(table.failures[0].message, "exceeded 2 s");
  for (int p = 0; p < 2; ++p) {
    for (int c = 0; c < 2; ++c) {
      for (int s = 0; s < 3; ++s) EXPECT_EQ(table.cell(p, c, s), m.tables[0].cell(p, c, s)) << p << c << s;
    }
  }
}

TEST(Measurements, FitTheBudgetOfACommittedFile) {
  Table table;
  table.signature = row_signature();
  for (int i = 0; i < 120; ++i) add_shape(&table, 4096, 128 * (i + 1), Role::kTrain);
  for (int c = 0; c < 60; ++c) {
    Config config;
    config.set("num_warps", 1 + c % 16);
    config.set("reduce.N", "resident(" + std::to_string(c) + ")");
    config.set("vec", 8);
    add_config(
        &table, config,
        c == 0 ? std::vector<Guard>{} : std::vector<Guard>{testing::divisible(3, 8), testing::at_most(3, 1 << 20)});
  }
  measure(&table, [](const Config&, int64_t m, int64_t n) { return 4 + 4e-6 * static_cast<double>(m * n); }, {});
  for (Cell& cell : table.passes[0]) cell.mad_permille = static_cast<int32_t>(cell.median_ns % 17);
  Measurements m = wrap(table);
  for (DType dtype : {DType::kBF16, DType::kF32}) {
    for (TensorParam& tensor : table.signature.tensors) tensor.dtype = dtype;
    m.tables.push_back(table);
  }
  EXPECT_LE(write_measurements(m).size(), 450'000u);
  EXPECT_TRUE(read_measurements(write_measurements(m), "m.json").is_ok());
}

TEST(Measurements, WriteRunsOfAbsentCellsAsTheirLength) {
  Table table;
  table.signature = row_signature();
  for (int i = 0; i < 20; ++i) add_shape(&table, 4, 128 * (i + 1), Role::kTrain);
  Config generic, few;
  few.set("vec", 8);
  add_config(&table, generic, {});
  add_config(&table, few, {testing::at_most(testing::kSlotN, 256)});
  measure(&table, [](const Config&, int64_t, int64_t n) { return static_cast<double>(n); }, {});
  table.cell(0, 1, 1).mad_permille = 9;
  const Measurements m = wrap(table);
  const std::string text = write_measurements(m);
  EXPECT_THAT(text, HasSubstr(",\"x18\"]"));
  EXPECT_EQ(write_measurements(read_measurements(text, "m.json").value()), text);
  EXPECT_THAT(error_of(replaced(text, "\"x18\"", "\"x19\"")), HasSubstr("more than 20 cells"));
  EXPECT_THAT(error_of(replaced(text, "\"x18\"", "\"x17\"")), HasSubstr("has 19 cells, expected 20"));
  EXPECT_THAT(error_of(replaced(text, "[4,9]", "[4,9,9]")), HasSubstr("has 3 items, expected 2"));
  EXPECT_THAT(error_of(replaced(text, "[4,9]", "[4]")), HasSubstr("too few values"));
}

TEST(Measurements, TellWhereTheTextIsMalformed) {
  const std::string text = write_measurements(tiny());
  EXPECT_THAT(error_of(text.substr(0, text.size() / 2)), HasSubstr("truncated"));
  EXPECT_THAT(error_of(""), HasSubstr("m.json:1:1"));
  EXPECT_THAT(error_of(replaced(text, "\"kernel\": \"row\"", "\"kernel\": row")), HasSubstr("m.json:3:"));
  EXPECT_THAT(error_of(replaced(text, "\"kernel\": \"row\"", "\"kernel\": 7")),
              HasSubstr("m.json.kernel: expected a string, got number"));
  EXPECT_THAT(error_of(replaced(text, "\"version\": 1", "\"version\": 2")), HasSubstr("expected 1, got 2"));
  EXPECT_THAT(error_of(replaced(text, "kaon measurements", "kaon training")),
              HasSubstr("expected \"kaon measurements\""));
  EXPECT_THAT(error_of(replaced(text, "\"driver\"", "\"drive\"")), HasSubstr("has no \"driver\""));
  EXPECT_THAT(error_of(replaced(text, "\"held_out\"", "\"heldout\"")),
              HasSubstr("expected train, measure or held_out"));
  EXPECT_THAT(error_of(replaced(text, "at_most", "at_mots")), HasSubstr("unknown word \"at_mots\""));
  EXPECT_THAT(error_of(replaced(text, "\"f16\"", "\"f17\"")), HasSubstr("unknown dtype \"f17\""));
}

TEST(Measurements, RefuseTimesThatCannotBe) {
  Measurements m = tiny();
  m.tables[0].cell(0, 0, 0).median_ns = 5432;
  const std::string text = write_measurements(m);
  EXPECT_THAT(error_of(replaced(text, "[5432,", "[-5432,")), HasSubstr("expected an integer in 0.."));
  EXPECT_THAT(error_of(replaced(text, "[5432,", "[NaN,")), HasSubstr("not JSON here"));
  EXPECT_THAT(error_of(replaced(text, "[5432,", "[54.5,")), HasSubstr("median_ns[0][0]: expected an integer"));
  EXPECT_THAT(error_of(replaced(text, "[5432,", "[1e400,")), HasSubstr("m.json"));
  EXPECT_THAT(error_of(replaced(text, "[5432,", "[")), HasSubstr("median_ns[0]: has 2 cells, expected 3"));
  EXPECT_THAT(error_of(replaced(text, "\"f0\"", "\"f1\"")), HasSubstr("names failure 1 of 1"));
  EXPECT_THAT(error_of(replaced(text, "\"f0\"", "\"late\"")), HasSubstr("got \"late\""));
}

TEST(Measurements, AreValidatedAsAWhole) {
  auto message = [](const std::function<void(Measurements*)>& spoil) {
    Measurements m = tiny();
    spoil(&m);
    return validate(m).message();
  };
  EXPECT_EQ(message([](Measurements*) {}), "");
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].shapes[0].weight = 0; }), HasSubstr("positive and finite"));
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].shapes[0].weight = std::nan(""); }), HasSubstr("finite"));
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].shapes[1] = m->tables[0].shapes[0]; }),
              HasSubstr("M=4 N=64 is listed twice"));
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].generic_config = 1; }), HasSubstr("has guards (N % 8 == 0"));
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].default_config = 9; }), HasSubstr("expected one below 2"));
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].passes[0].pop_back(); }), HasSubstr("5 cells, expected 6"));
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].cell(0, 1, 1).median_ns = 3; }), HasSubstr("guards refuse"));
  EXPECT_THAT(message([](Measurements* m) { m->tables[0].cell(0, 1, 2).median_ns = 3; }),
              HasSubstr("both measured and failed"));
  EXPECT_THAT(message([](Measurements* m) { m->tables.push_back(m->tables[0]); }), HasSubstr("is there twice"));
  EXPECT_THAT(message([](Measurements* m) { m->ignored_dims = {"K"}; }), HasSubstr("ignored dim K"));
  EXPECT_THAT(message([](Measurements* m) { m->derived_features = {"M*"}; }), HasSubstr("expected a value"));
}

TEST(TrainingText, IsReadBackAsWritten) {
  TrainingSet set{"row", 0xfedcba9876543210u, {}};
  set.tables.push_back({"f16", {3, 1, 0}, true, "used: because", 500, 1000, {{{0, 0, 4, 64}, 117, {1000, 0, 1234}}}});
  const std::string text = write_training(set);
  Result<TrainingSet> back = read_training(text, "t.json");
  ASSERT_TRUE(back.is_ok()) << back.status().message();
  EXPECT_EQ(write_training(*back), text);
  EXPECT_EQ(back->measurements_hash, set.measurements_hash);
  EXPECT_FALSE(read_training(replaced(text, "1234]", "1234, 5]"), "t.json").is_ok());
  EXPECT_FALSE(read_training(replaced(text, "fedcba", "fedcbg"), "t.json").is_ok());
}

TEST(DerivedFeatures, ParseAsArithmetic) {
  const Signature signature = row_signature();
  const std::vector<int64_t> slots = contiguous_slots(signature, {7, 100}, {});
  auto value = [&](const char* text) { return parse_expr(text, signature).value().evaluate(slots.data()); };
  EXPECT_EQ(value("M*N"), 700);
  EXPECT_EQ(value("M + N * 2 - 1"), 206);
  EXPECT_EQ(value("(M + N) * 2"), 214);
  for (const char* text : {"N // M", "N / M", "floor_div(N, M)"}) EXPECT_EQ(value(text), 14) << text;
  EXPECT_EQ(value("N % 8"), 4);
  EXPECT_EQ(value("ceil_div(N, 64)"), 2);
  EXPECT_EQ(value("min(M, max(3, N))"), 7);
  auto error = [&](const char* text) { return parse_expr(text, signature).status().message(); };
  EXPECT_THAT(error("K * 2"), HasSubstr("column 1: K is no dim"));
  EXPECT_THAT(error("M ^ 2"), HasSubstr("column 3: expected an operator or the end"));
  EXPECT_THAT(error("min(M)"), HasSubstr("expected a comma"));
  EXPECT_THAT(error("log2(M)"), HasSubstr("unknown function 'log2', known are min"));
  EXPECT_THAT(error("(M"), HasSubstr("expected )"));
  EXPECT_THAT(error("99999999999999999999"), HasSubstr("does not fit"));
  EXPECT_THAT(error(std::string(40, '(').c_str()), HasSubstr("deep"));
}

}  // namespace
}  // namespace kaon::heuristics
