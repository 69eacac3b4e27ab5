// Committed measurements and training tables give the committed trees and sources, byte for byte.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "heuristics/distill.h"
#include "heuristics/emit_cpp.h"
#include "heuristics/tree_passes.h"

namespace kaon::heuristics {
namespace {

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in.good()) << "cannot read " << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

// On a difference the new text is left beside the test, to be copied over the old one if the change is meant.
void expect_file(const std::filesystem::path& expected, const std::string& actual) {
  if (read_file(expected) == actual) return;
  const std::filesystem::path kept = std::filesystem::temp_directory_path() /
                                     (expected.parent_path().filename().string() + "." + expected.filename().string());
  std::ofstream(kept, std::ios::binary) << actual;
  ADD_FAILURE() << "differs from " << expected << "; the new text is " << kept;
}

std::string all_trees(const Measurements& m, const Distilled& d) {
  std::string text;
  for (const DistilledTable& table : d.tables) {
    std::vector<std::string> names;
    for (const VariantEvidence& variant : table.variants) {
      names.push_back(m.tables[table.table].configs[variant.config].variant.config.to_text());
    }
    text += "# " + table.dtypes + "\n" + tree_text(table.tree, names);
  }
  return text;
}

class Golden : public ::testing::TestWithParam<const char*> {};

TEST_P(Golden, GivesTheCommittedTreeAndSource) {
  const std::filesystem::path folder = std::filesystem::path(KAON_GOLDEN_DIR) / GetParam();
  Result<Measurements> m = read_measurements(read_file(folder / "measurements.json"), "measurements.json");
  ASSERT_TRUE(m.is_ok()) << m.status().message();
  Result<TrainingSet> training = read_training(read_file(folder / "training.json"), "training.json");
  ASSERT_TRUE(training.is_ok()) << training.status().message();
  EXPECT_EQ(write_measurements(*m), read_file(folder / "measurements.json"));
  EXPECT_EQ(write_training(*training), read_file(folder / "training.json"));
  Result<Distilled> d = fit(*m, *training, {});
  ASSERT_TRUE(d.is_ok()) << d.status().message();
  expect_file(folder / "tree.txt", all_trees(*m, *d));
  expect_file(folder / "expected.gen.cpp.txt", emit_cpp(*m, *d, {"2026-12-01", "aot_runner emit row", 0x42}));
}

INSTANTIATE_TEST_SUITE_P(Cases, Golden, ::testing::Values("capacity", "failing", "waves"),
                         [](const auto& info) { return std::string(info.param); });

}  // namespace
}  // namespace kaon::heuristics
