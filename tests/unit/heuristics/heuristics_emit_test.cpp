// Generated code against the tree it was made from, packs against their reader, reports against their readers.
#include "heuristics/emit_cpp.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "heuristics/emit_pack.h"
#include "heuristics/report.h"
#include "heuristics/tree_passes.h"
#include "runtime/launch/kernel_table.h"
#include "runtime/launch/pack.h"
#include "tests/unit/heuristics/synthetic.h"

namespace kaon::heuristics {
namespace {

using ::testing::HasSubstr;

const EmitFacts kFacts{"2026-12-01", "aot_runner emit row", 0x0123456789abcdef};

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// A shared object of generated code; the tables are reached through a C function beside them.
class Compiled {
 public:
  Compiled(const std::string& name, const std::string& source, const std::string& embed, const std::string& pack) {
    directory_ = std::filesystem::temp_directory_path() / ("kaon_emit_" + name + "_" + std::to_string(getpid()));
    std::filesystem::create_directories(directory_);
    write_file(directory_ / "row.gen.cpp",
               source + "extern \"C\" const kaon::KernelTableList* list() { return &kaon::tables::row_sm90_list; }\n");
    write_file(directory_ / "row.S", embed);
    write_file(directory_ / "row.kpack", pack);
    const std::string command = std::string(KAON_CXX) + " -std=c++17 -O2 -Wall -Wextra -Werror -shared -fPIC -I" +
                                KAON_SOURCE_DIR + " '-DKAON_PACK_FILE=\"" + (directory_ / "row.kpack").string() +
                                "\"' -o " + (directory_ / "row.so").string() + " " +
                                (directory_ / "row.gen.cpp").string() + " " + (directory_ / "row.S").string();
    EXPECT_EQ(std::system(command.c_str()), 0) << source;
    handle_ = dlopen((directory_ / "row.so").c_str(), RTLD_NOW);
    EXPECT_NE(handle_, nullptr) << dlerror();
  }
  ~Compiled() {
    if (handle_ != nullptr) dlclose(handle_);
    std::filesystem::remove_all(directory_);
  }
  const KernelTableList& list() const {
    return *reinterpret_cast<const KernelTableList* (*)()>(dlsym(handle_, "list"))();
  }

 private:
  std::filesystem::path directory_;
  void* handle_ = nullptr;
};

Distilled distilled_to_emit(const Measurements& m) {
  Result<Distilled> result = distill(m);
  EXPECT_TRUE(result.is_ok()) << result.status().to_string();
  return std::move(result).value();
}

std::vector<std::vector<int64_t>> random_rows(const Signature& signature, int count) {
  std::vector<std::vector<int64_t>> rows;
  Random random(17);
  for (int i = 0; i < count; ++i) {
    const int64_t m = std::llround(std::exp2(random.uniform() * 20)),
                  n = std::llround(std::exp2(random.uniform() * 20));
    rows.push_back(contiguous_slots(signature, {i % 97 == 0 ? 0 : m, n}, {}));
  }
  return rows;
}

void expect_same_leaves(const DecisionTree& tree, const Signature& signature, SelectFn select) {
  for (const std::vector<int64_t>& slots : random_rows(signature, 1'000'000)) {
    ASSERT_EQ(select(slots.data()), find_leaf(tree, slots.data())) << shape_text(signature, slots);
  }
}

TEST(EmittedSelect, AgreesWithTheTreeOnAMillionShapes) {
  Measurements m = testing::wrap(testing::wave_table({}));
  m.derived_features = {"ceil_div(M, 132) * N"};
  Distilled d = distilled_to_emit(m);
  ASSERT_GE(d.tables[0].tree.leaves.size(), 4u);
  Compiled compiled("waves", emit_cpp(m, d, kFacts), emit_embed(m), "not empty");
  const KernelTableList& list = compiled.list();
  ASSERT_EQ(list.count, 1u);
  EXPECT_EQ(list.tables[0].abi_version, kKernelTableAbi);
  EXPECT_STREQ(list.tables[0].kernel, "row");
  EXPECT_STREQ(list.tables[0].dtype_key, "f16");
  EXPECT_STREQ(list.tables[0].hardware, "sm90");
  EXPECT_EQ(list.tables[0].pack_hash, kFacts.pack_hash);
  EXPECT_EQ(std::string(list.tables[0].pack_begin, list.tables[0].pack_end), "not empty");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(list.tables[0].pack_begin) % 64, 0u);
  const SelectFn select = list.tables[0].select;
  expect_same_leaves(d.tables[0].tree, m.tables[0].signature, select);
}

// Trees of every feature form and of both code forms, not only those that a fit happens to give.
TEST(EmittedSelect, AgreesOnDeepTreesAndOddFeatures) {
  const Signature signature = testing::row_signature();
  const Expr m_dim = Expr::slot(testing::kSlotM), n_dim = Expr::slot(testing::kSlotN);
  Random random(5);
  Measurements m = testing::wrap(testing::failing_table({}));
  Distilled d = distilled_to_emit(m);
  for (int depth : {3, 6}) {
    DecisionTree tree;
    tree.features = {{"M", m_dim},
                     {"N", n_dim},
                     {"M*N", m_dim * n_dim},
                     {"N%8", mod(n_dim, Expr(8))},
                     {"M - N", m_dim - n_dim},
                     {"ceil_div(N, M)", ceil_div(n_dim, m_dim)},
                     {"min(M, N) // 3", floor_div(min(m_dim, n_dim), Expr(3))}};
    const size_t inner = (size_t{1} << depth) - 1;
    for (size_t i = 0; i < 2 * inner + 1; ++i) {
      TreeNode node;
      if (i < inner) {
        node.feature = static_cast<int16_t>(random.below(tree.features.size()));
        const bool small = node.feature == 3;
        node.threshold = small ? static_cast<int64_t>(random.below(8))
                               : std::llround(std::exp2(random.uniform() * 18)) * (node.feature == 4 && i % 2 ? -1 : 1);
        node.left = static_cast<uint16_t>(2 * i + 1);
        node.right = static_cast<uint16_t>(2 * i + 2);
      } else {
        node.leaf = static_cast<uint16_t>(i - inner);
        tree.leaves.push_back({0});
      }
      tree.nodes.push_back(node);
    }
    d.tables[0].tree = tree;
    Compiled compiled("deep" + std::to_string(depth), emit_cpp(m, d, kFacts), emit_embed(m), "x");
    expect_same_leaves(tree, signature, compiled.list().tables[0].select);
  }
}

TEST(EmittedSource, SaysWhereItComesFromAndWhatServes) {
  Measurements m = testing::wrap(testing::capacity_table({}));
  const Distilled d = distilled_to_emit(m);
  const std::string source = emit_cpp(m, d, kFacts);
  for (const char* text : {"hash 0x0123456789abcdef", "driver 580.0", "ptxas 13.0.88", "noise floor 1.0 % or 0 ns",
                           "aot_runner emit row", "generated  2026-12-01", "clang-format off", "N % 8 == 0",
                           "held out 52 shapes", "extern const KernelTableList row_sm90_list;"}) {
    EXPECT_THAT(source, HasSubstr(text));
  }
  EXPECT_EQ(source, emit_cpp(m, distilled_to_emit(m), kFacts));
  EXPECT_EQ(source.find(" \n"), std::string::npos) << "no trailing blanks";
}

ImageTable images_of(const Distilled& d) {
  ImageTable images;
  for (const DistilledTable& table : d.tables) {
    images.emplace_back();
    for (size_t v = 0; v < table.variants.size(); ++v) {
      images.back().push_back(
          {{"sm_90", ImageKind::kFatbin, ImageTrust::kMeasured, "image " + std::to_string(v / 2)},
           {"sm_120", ImageKind::kFatbin, ImageTrust::kCrossCompiled, "other " + std::to_string(v)}});
    }
  }
  return images;
}

TEST(Pack, HoldsTreeVariantsEvidenceAndEachImageOnce) {
  const Measurements m = testing::wrap(testing::capacity_table({}));
  const Distilled d = distilled_to_emit(m);
  const size_t n = d.tables[0].variants.size();
  Result<PackContents> contents = make_pack(m, d, images_of(d), "2026-12-01");
  ASSERT_TRUE(contents.is_ok()) << contents.status().to_string();
  EXPECT_EQ(contents->images.size(), (n + 1) / 2 + n);
  Result<std::string> bytes = write_pack(*contents);
  ASSERT_TRUE(bytes.is_ok()) << bytes.status().to_string();
  EXPECT_EQ(*bytes, write_pack(*make_pack(m, distilled_to_emit(m), images_of(d), "2026-12-01")).value());
  Result<PackContents> back = read_pack_contents(*bytes);
  ASSERT_TRUE(back.is_ok()) << back.status().to_string();
  const PackTable& table = back->records.tables[0];
  EXPECT_EQ(table.dtype_key, "f16");
  EXPECT_EQ(table.generic_variant, n - 1);
  EXPECT_EQ(table.ranges[1].max, 131072);
  EXPECT_EQ(table.variants[0].evidence.shapes_served, static_cast<uint32_t>(d.tables[0].variants[0].shapes_served));
  for (const auto& slots : random_rows(table.signature, 1000)) {
    EXPECT_EQ(find_leaf(table.tree, slots.data()), find_leaf(d.tables[0].tree, slots.data()));
  }
  const auto json = nlohmann::json::parse(back->json);
  EXPECT_EQ(json["tables"][0]["variants"].size(), n);
  EXPECT_EQ(json["source_hash"], "0123456789abcdef");
}

/// One table for each of N = 64, 128, 256, whose configs only serve that N: few rows in a block win for few rows.
Measurements specialised_measurements() {
  Measurements m = testing::wrap(Table());
  m.tables.clear();
  for (int64_t n : {256, 64, 128}) {
    Table table;
    table.signature = testing::row_signature();
    for (int64_t rows = 1; rows <= 1 << 16; rows *= 2) {
      testing::add_shape(&table, rows, n, rows == 64 ? Role::kHeldOut : Role::kTrain);
    }
    for (int64_t block : {1, 16}) {
      Config config;
      config.set("const.N", n);
      config.set("block.m", block);
      std::vector<Guard> guards = {{GuardKind::kEqual, testing::kSlotN, 0, n}};
      if (block == 1) table.generic_config = table.num_configs();
      if (block != 1) guards.push_back(testing::divisible(testing::kSlotM, 16));
      testing::add_config(&table, config, guards, block);
    }
    testing::measure(&table,
                     [](const Config& config, int64_t rows, int64_t columns) {
                       const auto block = static_cast<double>(config.get_int("block.m", 1));
                       return 5 + 1e-4 * static_cast<double>(rows * columns) / (block > 1 ? 2 : 1) +
                              (block > 1 ? 2 : 0);
                     },
                     {});
    m.tables.push_back(std::move(table));
  }
  return m;
}

TEST(Pack, JoinsTheTablesOfASpecialisedKernelBelowItsValues) {
  const Measurements m = specialised_measurements();
  ASSERT_EQ(validate(m).to_string(), "ok");
  const Distilled d = distilled(m);
  ASSERT_EQ(d.tables.size(), 3u);
  EXPECT_EQ(d.tables[0].dtypes, "f16 N=256");
  ASSERT_GE(d.tables[0].tree.leaves.size(), 2u);
  Result<PackContents> contents = make_pack(m, d, images_of(d), "2026-12-01");
  ASSERT_TRUE(contents.is_ok()) << contents.status().to_string();
  ASSERT_TRUE(write_pack(*contents).is_ok()) << write_pack(*contents).status().to_string();
  ASSERT_EQ(contents->records.tables.size(), 1u);
  const PackTable& table = contents->records.tables[0];
  EXPECT_EQ(table.dtype_key, "f16");
  EXPECT_EQ(table.shapes.size(), 48u);
  EXPECT_EQ(table.ranges[1].min, 64);
  EXPECT_EQ(table.ranges[1].max, 256);
  const auto served = [&](int64_t rows, int64_t n) {
    const std::vector<int64_t> slots = contiguous_slots(table.signature, {rows, n}, {});
    for (uint16_t v : table.tree.leaves[static_cast<size_t>(find_leaf(table.tree, slots.data()))]) {
      if (first_refusing(table.signature, table.variants[v].info.guards, slots.data()) < 0)
        return table.variants[v].info.config.to_text();
    }
    return std::string("nothing");
  };
  for (size_t t = 0; t < 3; ++t) {
    const int64_t n = m.tables[t].shapes[0].slots[testing::kSlotN];
    for (const Shape& shape : m.tables[t].shapes) {
      const int config = chosen_config(d.tables[t], m.tables[t], shape.slots.data());
      EXPECT_EQ(served(shape.slots[testing::kSlotM], n), m.tables[t].configs[config].variant.config.to_text());
    }
    EXPECT_EQ(served(17, n), "block.m=1 const.N=" + std::to_string(n)) << "the value's own generic variant";
  }
  for (int64_t n : {1, 96, 255, 1000}) EXPECT_EQ(served(16, n), "nothing");
  Compiled compiled("specialised", emit_cpp(m, d, kFacts), emit_embed(m), "x");
  ASSERT_EQ(compiled.list().count, 1u);
  expect_same_leaves(table.tree, table.signature, compiled.list().tables[0].select);
}

TEST(Pack, RefusesATableWhoseShapesAreOfAnotherValue) {
  Measurements m = specialised_measurements();
  testing::add_shape(&m.tables[1], 8, 128, Role::kTrain);
  EXPECT_THAT(validate(m).message(), HasSubstr("the generic config refuses shape 17: N == 64 does not hold, N is 128"));
  m = specialised_measurements();
  m.tables[2] = m.tables[1];
  EXPECT_THAT(validate(m).message(), HasSubstr("table \"f16 N=64\": is there twice"));
}

TEST(Pack, RefusesMissingImages) {
  const Measurements m = testing::wrap(testing::twin_table({}));
  const Distilled d = distilled_to_emit(m);
  ImageTable images = images_of(d);
  images[0][0].clear();
  EXPECT_THAT(make_pack(m, d, images, "").status().message(), HasSubstr("variant 0 has no image"));
  images.clear();
  EXPECT_THAT(make_pack(m, d, images, "").status().message(), HasSubstr("images for 0 tables, expected 1"));
}

TEST(Report, HasTheFieldsThatPeopleLookFor) {
  const Measurements m = testing::wrap(testing::capacity_table({}));
  const Distilled d = distilled_to_emit(m);
  const auto json = nlohmann::json::parse(write_report(m, d, {"2026-12-02", 12345}));
  const auto& f16 = json["dtypes"]["f16"];
  EXPECT_DOUBLE_EQ(f16["held_out"]["geomean_of_oracle"], d.tables[0].tree_score[1].geomean);
  EXPECT_DOUBLE_EQ(f16["held_out"]["worst_of_oracle"], d.tables[0].tree_score[1].worst);
  EXPECT_DOUBLE_EQ(f16["train"]["geomean_of_oracle"], d.tables[0].tree_score[0].geomean);
  EXPECT_DOUBLE_EQ(f16["single_config"]["geomean_of_oracle"], d.tables[0].single_score[1].geomean);
  EXPECT_DOUBLE_EQ(f16["default_config"]["geomean_of_oracle"], d.tables[0].default_score[1].geomean);
  EXPECT_TRUE(f16["ablation"]["without_teacher"].contains("geomean_of_oracle"));
  EXPECT_EQ(f16["shapes"], m.tables[0].num_shapes());
  EXPECT_EQ(f16["variants"], d.tables[0].variants.size());
  EXPECT_EQ(json["device"], "synthetic");
  EXPECT_EQ(json["driver"], "580.0");
  EXPECT_EQ(json["date"], "2026-12-02");
  EXPECT_DOUBLE_EQ(json["noise_floor"], 0.01);
  EXPECT_EQ(json["bytes"], 12345);
  EXPECT_TRUE(json.contains("seconds"));
  EXPECT_THAT(summary_text(m, d), HasSubstr("best single config"));
}

TEST(Report, FiguresOverNoShapesAreNull) {
  Measurements m = testing::wrap(testing::twin_table({}));
  for (Shape& shape : m.tables[0].shapes) shape.role = Role::kTrain;
  const auto json = nlohmann::json::parse(write_report(m, distilled_to_emit(m), {"", 0}));
  EXPECT_TRUE(json["dtypes"]["f16"]["held_out"]["geomean_of_oracle"].is_null());
  EXPECT_EQ(json["dtypes"]["f16"]["single_config"]["over"], "train");
}

}  // namespace
}  // namespace kaon::heuristics
