// What LANGUAGE.md's examples compute on the CPU target is what the oracle says they mean.
#include <gtest/gtest.h>

#include <bit>

#include "tests/unit/codegen/host_case.h"
#include "tests/unit/frontend/sources.h"
#include "tests/unit/frontend/tile_blocks.h"

namespace kaon::compiler {
namespace {

std::string example(const std::string& kernel) {
  for (const std::string& block : tile_blocks(read_source("compiler/LANGUAGE.md"))) {
    if (block.find("kernel " + kernel + "(") != std::string::npos) return block;
  }
  ADD_FAILURE() << "LANGUAGE.md has no example " << kernel;
  return "";
}

int64_t f32_slot(float value) { return std::bit_cast<int32_t>(value); }

TEST(LanguageRun, Softmax) { expect_right({example("softmax"), DType::kF16, "", {{"M", 5}, {"N", 72}}}); }

TEST(LanguageRun, ScaleRows) {
  expect_right({example("scale_rows"), DType::kF32, "", {{"M", 6}, {"H", 40}}, {f32_slot(0.25f)}});
}

TEST(LanguageRun, ColumnSums) {
  for (int64_t used : {0, 1, 31, 70})
    expect_right({example("column_sums"), DType::kF32, "", {{"M", 70}, {"N", 64}}, {used}});
}

TEST(LanguageRun, RowMeans) {
  expect_right({example("row_means"), DType::kF32, "", {{"B", 6}, {"N", 40}}, {}, 0, 0, 2,
                {{"lengths", {0, 40, 3, 1, 17, -2}}}});
}

TEST(LanguageRun, GeluMasked) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    expect_right({example("gelu_masked"), dtype, "", {{"M", 9}, {"N", 64}}});
  }
}

TEST(LanguageRun, Normalize) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    expect_right({example("normalize"), dtype, "vec=1", {{"M", 5}, {"N", 127}}});
  }
}

TEST(LanguageRun, HalvedSums) {
  for (int64_t n : {1, 40}) {
    expect_right({example("halved_sums"), DType::kF32, "vec=1 num_warps=2", {{"M", 7}, {"N", n}}});
  }
}

TEST(LanguageRun, Convolve) {
  for (int64_t n : {0, 1, 127}) {
    expect_right({example("convolve"), DType::kF32, "vec=1 num_warps=1", {{"B", 3}, {"N", n}, {"K", 5}}});
  }
}

TEST(LanguageRun, LongSums) {
  for (int64_t n : {1, 127, 1000}) {
    expect_right({example("long_sums"), DType::kF16, "vec=1 block.B=256", {{"M", 3}, {"N", n}}});
  }
}

TEST(LanguageRun, Rope) { expect_right({kRope, DType::kBF16, "", {{"B", 2}, {"S", 7}, {"H", 16}}}); }

TEST(LanguageRun, ColumnSumWithCounts) { expect_right({kColumnSum, DType::kF32, "", {{"M", 45}, {"N", 64}}, {37}}); }

}  // namespace
}  // namespace kaon::compiler
