// Loops over rows of different lengths give on the CPU target what the oracle says, whatever the lengths.
#include <gtest/gtest.h>

#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

const char* const kRowSum = R"(
kernel row_sum(x: T[B, N], lengths: i64[B]) -> (out: f32[B]) where T in (f16, f32) {
  for b in tile(B) {
    var acc = zeros(f32, b);
    for k in jagged_tile(lengths[b]) {
      acc += sum(f32(x[b, k]) * f32(k.index)[None, :], dim=1);
    }
    out[b] = acc;
  }
}
)";

/// Row b of the output holds what lies before its length; the rest must stay untouched.
const char* const kRowCopy = R"(
kernel row_copy(x: T[B, 72], lengths: i32[B]) -> (out: T[B, 72]) where T in (f16, f32) {
  for b in tile(B) {
    for k in jagged_tile(lengths[b]) { out[b, k] = x[b, k] + 1; }
  }
}
)";

const std::vector<std::vector<int64_t>> kLengths = {
    {0, 0, 0, 0, 0, 0, 0},            // nothing
    {9, 9, 9, 9, 9, 9, 9},            // all equal
    {1, 40, 3, 0, 17, 2, 64},         // uneven
    {0, 0, 0, 70, 0, 0, 0},           // one giant row
    {0, 5, 0, 5, 0, 5, 0},            // half empty
    {-3, 2, INT64_MIN, 1, 0, 4, 70},  // below 0 is empty too
};

TEST(Jagged, SumsEndAtTheLengths) {
  for (const auto& lengths : kLengths) {
    for (const char* config :
         {"", "block.b=4", "num_warps=1 block.b=8 block.k=32", "num_warps=2 block.b=4 block.k=64"}) {
      expect_right({kRowSum, DType::kF32, config, {{"B", 7}, {"N", 72}}, {}, 0, 0, 2, {{"lengths", lengths}}});
    }
  }
}

TEST(Jagged, VectorsAreCutAtTheLengths) {
  for (const auto& lengths : kLengths) {
    if (*std::max_element(lengths.begin(), lengths.end()) == 0) continue;  // nothing is written
    std::vector<int64_t> natural;
    for (int64_t length : lengths) natural.push_back(std::max<int64_t>(length, -1));
    for (const char* config : {"", "block.b=4", "block.b=8 block.k=256"}) {
      expect_right({kRowCopy, DType::kF16, config, {{"B", 7}}, {}, 0, 0, 2, {{"lengths", natural}}});
    }
  }
}

/// The other tile of `b` deals the threads out in another way, so the lengths move.
const char* const kTwoTiles = R"(
kernel two_tiles(x: f32[B, N], y: f32[B, M], lengths: i64[B]) -> (out: f32[B], dense: f32[B, M]) {
  for b in tile(B) {
    let length = lengths[b];
    for m in tile(M) { dense[b, m] = y[b, m] * f32(length)[:, None]; }
    var total = zeros(f32, b);
    for k in jagged_tile(length) { total += sum(x[b, k], dim=1); }
    out[b] = total;
  }
}
)";

TEST(Jagged, LengthsLieWithTheRows) {
  for (const auto& lengths : kLengths) {
    for (const char* config :
         {"", "block.b=4 block.k=128 block.m=512 lanes.m=128 div.M=1", "block.b=8 vec=1 lanes.k=32"}) {
      if (lengths[2] == INT64_MIN) continue;  // no float of that size to compare
      expect_right(
          {kTwoTiles, DType::kF32, config, {{"B", 7}, {"N", 72}, {"M", 44}}, {}, 0, 0, 2, {{"lengths", lengths}}});
    }
  }
}

TEST(Jagged, RowsOfAnEmptyTensor) {
  expect_right({kRowSum, DType::kF32, "", {{"B", 1}, {"N", 0}}, {}, 0, 0, 2, {{"lengths", {0}}}});
}

}  // namespace
}  // namespace kaon::compiler
