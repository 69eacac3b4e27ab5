// What the environment says: $KAON_HEURISTIC_DIR, KAON_FORCE_VARIANT, KAON_ALLOW_PTX. Each is read once per process, so
// each case runs in a child of this test.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>

#include "runtime/kaon.hpp"
#include "tests/unit/runtime/in_child.h"
#include "tests/unit/runtime/sample_pack.h"
#include "tests/unit/runtime/stub.h"

namespace kaon {
namespace {

using testing::in_child;
using testing::sample_pack;
using testing::stub;

std::string call_text(const Result<Kernel>& kernel) {
  if (!kernel.is_ok()) return kernel.status().to_string();
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x100000000), DType::kF16, {64, 256});
  TensorView w = TensorView::contiguous(reinterpret_cast<void*>(0x200000000), DType::kF16, {256});
  TensorView out = TensorView::contiguous(reinterpret_cast<void*>(0x300000000), DType::kF16, {64, 256});
  const TensorView* tensors[] = {&x, &w, &out};
  CallInfo info;
  Status status = kernel->call(nullptr, tensors, 3, nullptr, 0, &info);
  if (!status.is_ok()) return status.to_string();
  return std::string(match_name(info.match)) + " " + info.variant->hardware + " " + info.variant->config;
}

class Environment : public ::testing::Test {
 protected:
  void SetUp() override {
    directory_ = ::testing::TempDir() + "kaon_packs_" + std::to_string(getpid());
    mkdir(directory_.c_str(), 0755);
  }
  void TearDown() override {
    for (const std::string& file : files_) remove(file.c_str());
    rmdir(directory_.c_str());
  }
  void write_file(const std::string& name, const std::string& bytes) {
    files_.push_back(directory_ + "/" + name);
    std::ofstream(files_.back(), std::ios::binary) << bytes;
  }
  std::string pack_bytes(const std::string& hardware, const std::string& mark) {
    PackContents contents = sample_pack("scale_rows", hardware, {"sm_90"});
    for (PackVariant& variant : contents.records.tables[0].variants) variant.info.config.set("mark", mark);
    return *write_pack(contents);
  }

  std::string directory_;
  std::vector<std::string> files_;
};

TEST_F(Environment, PacksOfTheDirectoryComeBeforeLinkedTables) {
  write_file("a.kpack", pack_bytes("sm90", "first"));
  write_file("b.kpack", pack_bytes("sm90", "last"));
  write_file("notes.txt", "not a pack");
  EXPECT_EQ(in_child([&] {
              stub().reset();
              setenv("KAON_HEURISTIC_DIR", directory_.c_str(), 1);
              testing::LinkedPack linked(sample_pack("scale_rows", "sm90", {"sm_90"}), testing::sample_select);
              return call_text(Kernel("scale_rows", {linked.list()}));
            }),
            "tuned sm90 block.m=4 mark=last");
  EXPECT_EQ(in_child([&] {
              stub().reset();
              setenv("KAON_HEURISTIC_DIR", directory_.c_str(), 1);
              return call_text(Kernel::find("scale_rows"));
            }),
            "tuned sm90 block.m=4 mark=last");
}

TEST_F(Environment, APackThatTheProgramLoadsComesBeforeTheDirectorys) {
  write_file("a.kpack", pack_bytes("sm90", "directory"));
  write_file("other", pack_bytes("sm90", "loaded"));
  EXPECT_EQ(in_child([&] {
              stub().reset();
              setenv("KAON_HEURISTIC_DIR", directory_.c_str(), 1);
              if (Status status = load_pack(directory_ + "/other"); !status.is_ok()) return status.to_string();
              return call_text(Kernel::find("scale_rows"));
            }),
            "tuned sm90 block.m=4 mark=loaded");
}

TEST_F(Environment, ACorruptPackInTheDirectoryIsAnErrorWithItsPath) {
  std::string bytes = pack_bytes("sm90", "x");
  bytes[300] ^= 1;
  write_file("bad.kpack", bytes);
  EXPECT_EQ(in_child([&] {
              stub().reset();
              setenv("KAON_HEURISTIC_DIR", directory_.c_str(), 1);
              return call_text(Kernel::find("scale_rows"));
            }),
            "corrupt: " + directory_ + "/bad.kpack: section records: checksum does not match");
  EXPECT_EQ(in_child([&] {
              stub().reset();
              setenv("KAON_HEURISTIC_DIR", "/nonexistent", 1);
              return call_text(Kernel::find("scale_rows"));
            }),
            "io: KAON_HEURISTIC_DIR /nonexistent: cannot open: No such file or directory");
}

TEST_F(Environment, ForcedVariantsAreReadFromTheEnvironment) {
  auto forced = [](const char* spec) {
    return in_child([&] {
      stub().reset();
      setenv("KAON_FORCE_VARIANT", spec, 1);
      testing::LinkedPack linked(sample_pack("scale_rows", "sm90", {"sm_90"}), testing::sample_select);
      return call_text(Kernel("scale_rows", {linked.list()}));
    });
  };
  EXPECT_EQ(forced("2"), "forced sm90 block.m=2");
  EXPECT_EQ(forced("scale_rows=3"), "forced sm90 block.m=8");
  EXPECT_EQ(forced("other=3"), "tuned sm90 block.m=4");
  EXPECT_EQ(forced("banana"),
            "invalid_argument: KAON_FORCE_VARIANT: forced variant 'banana': expected an index or 0x and a fingerprint, "
            "with kernel= before it or not");
}

TEST_F(Environment, PtxRunsOnlyWhereAllowed) {
  auto with = [](const char* allow) {
    return in_child([&] {
      stub().reset();
      if (allow != nullptr) setenv("KAON_ALLOW_PTX", allow, 1);
      testing::LinkedPack linked(sample_pack("scale_rows", "sm80", {"sm_80"}, ImageKind::kPtx), testing::sample_select);
      return call_text(Kernel("scale_rows", {linked.list()}));
    });
  };
  EXPECT_EQ(with("1"), "older_table sm80 block.m=4");
  EXPECT_EQ(
      with(nullptr),
      "unsupported: scale_rows cannot run on sm90: table sm80: the generic variant has no image that runs on sm90, "
      "only sm_80 ptx");
}

}  // namespace
}  // namespace kaon
