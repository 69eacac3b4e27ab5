// The store: what is put is found again, under its own context only, and damage is named.
#include "aot_runner/store/store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "aot_runner/store/keys.h"
#include "aot_runner/tune/files.h"

namespace kaon::runner {
namespace {

using ::testing::HasSubstr;

class StoreTest : public ::testing::Test {
 protected:
  void SetUp() override {
    char pattern[] = "/tmp/kaon_store_XXXXXX";
    folder_ = ::mkdtemp(pattern);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::unique_ptr<Store> open() {
    Result<std::unique_ptr<Store>> store = Store::open(folder_);
    EXPECT_TRUE(store.is_ok()) << store.status().to_string();
    return std::move(store).value();
  }
  std::string folder_;
};

Config make_config(int64_t block) {
  Config config;
  config.set("block.m", block);
  return config;
}

StoredVariant make_variant(int64_t block, const std::string& image) {
  return {make_config(block), Code::kOk, "", "{\"symbol\": \"f\"}", "{}", content_hash(image), 0.25};
}

StoredCell make_cell(int64_t block, const std::string& shape, double us) {
  StoredCell cell;
  cell.config = make_config(block);
  cell.shape = shape;
  cell.median_us = us;
  cell.samples = 9;
  cell.seconds = 0.125;
  return cell;
}

TEST_F(StoreTest, VariantsImagesAndCellsSurviveReopening) {
  const std::string image(
      "\x7f"
      "ELF\0\1\2",
      7);
  {
    auto store = open();
    const int64_t context = store->context("a").value();
    ASSERT_TRUE(store->put_variant(context, make_variant(4, image), image).is_ok());
    StoredVariant rejected{
        make_config(8), Code::kIllegalConfig, "needs 300 registers, the target has 255", "", "", "", 0};
    ASSERT_TRUE(store->put_variant(context, rejected, "").is_ok());
    StoredCell failed = make_cell(4, "4x9", 0);
    failed.failure = Failure::kRedZone;
    failed.message = "wrote out of bounds";
    ASSERT_TRUE(store->put_cells(context, {make_cell(4, "4x8", 2.5), failed}).is_ok());
  }
  auto store = open();
  const int64_t context = store->context("a").value();
  const auto variant = store->find_variant(context, make_config(4)).value();
  ASSERT_TRUE(variant.has_value());
  EXPECT_EQ(variant->seconds, 0.25);
  EXPECT_EQ(store->image(variant->image_hash).value(), image);
  EXPECT_EQ(store->find_variant(context, make_config(8)).value()->message, "needs 300 registers, the target has 255");
  const std::vector<StoredCell> cells = store->cells(context).value();
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].median_us, 2.5);
  EXPECT_EQ(cells[1].failure, Failure::kRedZone);
}

TEST_F(StoreTest, NothingIsFoundUnderAnotherContext) {
  auto store = open();
  const int64_t a = store->context("a").value();
  const int64_t b = store->context("b").value();
  ASSERT_TRUE(store->put_variant(a, make_variant(4, "image"), "image").is_ok());
  ASSERT_TRUE(store->put_cells(a, {make_cell(4, "1", 1)}).is_ok());
  EXPECT_FALSE(store->find_variant(b, make_config(4)).value().has_value());
  EXPECT_TRUE(store->cells(b).value().empty());
}

TEST_F(StoreTest, AMeasuredCellIsNeverOverwritten) {
  auto store = open();
  const int64_t context = store->context("a").value();
  ASSERT_TRUE(store->put_cells(context, {make_cell(4, "1", 1)}).is_ok());
  ASSERT_TRUE(store->put_cells(context, {make_cell(4, "1", 2)}).is_ok());
  EXPECT_EQ(store->cells(context).value()[0].median_us, 1);
}

TEST_F(StoreTest, ARunKeepsTheDateOfItsFirstStart) {
  auto store = open();
  EXPECT_EQ(store->begin_run("k", "2026-12-01").value().date, "2026-12-01");
  const StoredRun again = store->begin_run("k", "2026-12-02").value();
  EXPECT_EQ(again.date, "2026-12-01");
  EXPECT_EQ(again.interruptions, 1);
  EXPECT_FALSE(again.complete);
  ASSERT_TRUE(store->complete_run("k").is_ok());
  const StoredRun done = store->begin_run("k", "2026-12-03").value();
  EXPECT_TRUE(done.complete);
  EXPECT_EQ(done.interruptions, 1);
}

TEST_F(StoreTest, PruneKeepsOnlyWhatMatches) {
  auto store = open();
  const int64_t a = store->context("compiler 1").value();
  const int64_t b = store->context("compiler 2").value();
  ASSERT_TRUE(store->put_variant(a, make_variant(4, "old"), "old").is_ok());
  ASSERT_TRUE(store->put_variant(b, make_variant(4, "new"), "new").is_ok());
  ASSERT_TRUE(store->prune("compiler 2").is_ok());
  const StoreUsage usage = store->usage().value();
  EXPECT_EQ(usage.contexts, 1);
  EXPECT_EQ(usage.variants, 1);
  EXPECT_EQ(usage.images, 1);
  EXPECT_EQ(store->image(content_hash("new")).value(), "new");
}

TEST_F(StoreTest, AForeignFileIsCorruptAndNamed) {
  std::ofstream(folder_ + "/tuning.sqlite")
      << "this is a diary, not a database, and long enough to have a header of one";
  const auto store = Store::open(folder_);
  ASSERT_FALSE(store.is_ok());
  EXPECT_EQ(store.status().code(), Code::kCorrupt);
  EXPECT_THAT(store.status().message(), HasSubstr(folder_));
  EXPECT_THAT(store.status().message(), HasSubstr("move the file away"));
}

TEST_F(StoreTest, AFolderThatCannotBeMadeIsNamedWithErrno) {
  std::ofstream(folder_ + "/file") << "x";
  const auto store = Store::open(folder_ + "/file/cache");
  ASSERT_FALSE(store.is_ok());
  EXPECT_EQ(store.status().code(), Code::kIo);
  EXPECT_THAT(store.status().message(), HasSubstr("errno 20"));
  EXPECT_THAT(store.status().message(), HasSubstr("KAON_CACHE_DIR"));
}

TEST_F(StoreTest, AnEmptyDirectoryNameKeepsNothingOnDisk) {
  auto store = std::move(Store::open("")).value();
  const int64_t context = store->context("a").value();
  ASSERT_TRUE(store->put_cells(context, {make_cell(1, "1", 1)}).is_ok());
  EXPECT_EQ(store->cells(context).value().size(), 1u);
  EXPECT_EQ(store->path(), "");
}

TEST(Keys, EveryFieldChangesTheContext) {
  const MeasureKey base{{"softmax", "f16", {}, "hash", "sm_90", "1", "LLVM 19.1.7", "13.0.88"}, {}, {}, {}, {}};
  std::vector<MeasureKey> others(11, base);
  others[0].compile.kernel = "add";
  others[1].compile.dtypes = "f32";
  others[2].compile.constants["K"] = 4;
  others[3].compile.source_hash = "other";
  others[4].compile.compiler = "2";
  others[5].compile.ptxas = "12.4";
  others[6].device.driver = "590";
  others[7].device.name = "H100";
  others[8].options.max_seconds = 9;
  others[9].scalars["eps"] = 1e-5;
  others[10].data["offsets"] = "offsets(N, even)";
  for (size_t i = 0; i < others.size(); ++i) EXPECT_NE(measure_context(base), measure_context(others[i])) << i;
  EXPECT_EQ(measure_context(base), measure_context(MeasureKey(base)));
  EXPECT_NE(compile_context(base.compile), compile_context(others[4].compile));
}

TEST_F(StoreTest, WriteFileReplacesWholeAndKeepsTheOldOnFailure) {
  const std::string path = folder_ + "/sub/out.txt";
  ASSERT_TRUE(write_file(path, "old").is_ok());
  ASSERT_TRUE(write_file(path, "new").is_ok());
  EXPECT_EQ(read_file(path).value(), "new");
  ASSERT_TRUE(std::filesystem::create_directory(folder_ + "/sub/taken"));
  const Status status = write_file(folder_ + "/sub/taken", "x");
  ASSERT_FALSE(status.is_ok());
  EXPECT_THAT(status.message(), HasSubstr(folder_ + "/sub/taken"));
  EXPECT_THAT(status.message(), HasSubstr("errno"));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_ + "/sub"), {}), 2) << "no temporary file stays";
}

/// While it lives, no file of this process grows beyond `bytes`: writes fail as on a full disk, with another errno.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : on_signal_(std::signal(SIGXFSZ, SIG_IGN)) {
    EXPECT_EQ(::getrlimit(RLIMIT_FSIZE, &before_), 0);
    const rlimit limit{bytes, before_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  }
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, on_signal_);
  }

 private:
  rlimit before_{};
  void (*on_signal_)(int);
};

TEST_F(StoreTest, FilesAreReplacedTogetherOrNotAtAll) {
  const std::string small = folder_ + "/small", large = folder_ + "/large", bytes(100000, 'n');
  ASSERT_TRUE(write_files({{small, "old"}, {large, "old too"}}).is_ok());
  Status status;
  {
    const FileSizeLimit limit(4096);
    status = write_files({{small, "new"}, {large, bytes}});
  }
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_EQ(status.message(),
            "cannot write " + large + ": errno 27: File too large; the old file, if there was one, is unchanged");
  EXPECT_EQ(read_file(small).value(), "old");
  EXPECT_EQ(read_file(large).value(), "old too");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 2) << "no temporary file stays";
  ASSERT_TRUE(write_files({{small, "new"}, {large, bytes}}).is_ok());
  EXPECT_EQ(read_file(small).value(), "new");
  EXPECT_EQ(read_file(large).value(), bytes);
}

TEST_F(StoreTest, AFullDiskIsOneErrorAndKeepsTheCells) {
  const std::string image(1 << 20, 'i');
  auto store = open();
  const int64_t context = store->context("a").value();
  ASSERT_TRUE(store->put_cells(context, {make_cell(4, "1", 1)}).is_ok());
  Status status;
  {
    const FileSizeLimit limit(200000);
    status = store->put_variant(context, make_variant(4, image), image);
  }
  EXPECT_EQ(status.code(), Code::kIo);
  EXPECT_THAT(status.message(), HasSubstr("cannot write the store " + folder_ + "/tuning.sqlite"));
  EXPECT_THAT(status.message(), HasSubstr("errno"));
  EXPECT_THAT(status.message(), HasSubstr("free some space or set KAON_CACHE_DIR"));
  store = open();
  EXPECT_EQ(store->cells(context).value().size(), 1u);
  EXPECT_FALSE(store->find_variant(context, make_config(4)).value().has_value());
  ASSERT_TRUE(store->put_variant(context, make_variant(4, image), image).is_ok());
  EXPECT_EQ(store->image(content_hash(image)).value(), image);
}

TEST_F(StoreTest, AFolderThatTakesNoFilesIsNamed) {
  EXPECT_TRUE(check_writable_folder(folder_ + "/not/yet/made").is_ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "nothing stays";
  EXPECT_THAT(check_writable_folder("/proc/none").message(), HasSubstr("cannot write into /proc/none: errno 2: "));
  std::filesystem::create_symlink("/nowhere", folder_ + "/link");
  EXPECT_THAT(check_writable_folder(folder_ + "/link").message(), HasSubstr("/link: errno 2: "));
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_THAT(check_writable_folder(folder_ + "/file").message(), HasSubstr("/file: errno 20: Not a directory"));
}

}  // namespace
}  // namespace kaon::runner
