// Embedding: add_kaon_pack gives the bytes of the file, aligned; and the format has not drifted from a committed pack.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>

#include "runtime/kaon.hpp"
#include "tests/unit/runtime/sample_pack.h"
#include "tests/unit/runtime/stub.h"

extern "C" {
extern const unsigned char kaon_pack_scale_rows_sm90_begin[];
extern const unsigned char kaon_pack_scale_rows_sm90_end[];
}

namespace kaon {
namespace {

std::string embedded() {
  return {reinterpret_cast<const char*>(kaon_pack_scale_rows_sm90_begin),
          static_cast<size_t>(kaon_pack_scale_rows_sm90_end - kaon_pack_scale_rows_sm90_begin)};
}

TEST(Embed, TheBytesAreTheFilesOnA64ByteBoundary) {
  EXPECT_EQ(reinterpret_cast<uintptr_t>(kaon_pack_scale_rows_sm90_begin) % 64, 0u);
  std::ifstream file(KAON_FIXTURE, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  ASSERT_FALSE(bytes.empty());
  EXPECT_TRUE(embedded() == bytes);
}

// Packs are committed and shipped: the writer must go on making these bytes, or kPackFormatVersion must rise. Set
// KAON_UPDATE_GOLDEN=1 to write the fixture anew.
TEST(Embed, TheWriterStillMakesTheCommittedPack) {
  Result<std::string> bytes = write_pack(testing::sample_pack("scale_rows", "sm90", {"sm_90", "sm_80"}));
  ASSERT_TRUE(bytes.is_ok());
  if (getenv("KAON_UPDATE_GOLDEN") != nullptr) std::ofstream(KAON_FIXTURE, std::ios::binary) << *bytes;
  EXPECT_TRUE(embedded() == *bytes) << "the format changed: raise kPackFormatVersion and remake " << KAON_FIXTURE;
}

TEST(Embed, AnEmbeddedPackServesCalls) {
  testing::stub().reset();
  static const KernelTable tables[] = {
      {kKernelTableAbi, "scale_rows", "f32", "sm90", testing::sample_select, kaon_pack_scale_rows_sm90_begin,
       kaon_pack_scale_rows_sm90_end, pack_hash(embedded().data(), embedded().size())}};
  static const KernelTableList list = {tables, 1};
  TensorView x = TensorView::contiguous(reinterpret_cast<void*>(0x100000000), DType::kF32, {64, 256});
  TensorView w = TensorView::contiguous(reinterpret_cast<void*>(0x200000000), DType::kF32, {256});
  const TensorView* tensors[] = {&x, &w, &x};
  Status status = Kernel("scale_rows", {&list}).call(nullptr, tensors, 3);
  EXPECT_TRUE(status.is_ok()) << status.to_string();
  EXPECT_EQ(std::string(testing::stub().last_launch().symbol), "scale_rows_f32_v0");
}

}  // namespace
}  // namespace kaon
