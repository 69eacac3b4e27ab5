// Gathers, scatters and masks: what a .tile kernel says, run on the checking machine and held against the oracle.
#include <gtest/gtest.h>

#include <array>

#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

constexpr const char* kEmbedding = R"(
kernel embedding(table: T[V, N], ids: i32[M]) -> (out: T[M, N]) where T in (f16, f32) {
  for m in tile(M) {
    out[m, :] = table[ids[m], :];
  }
}
)";

constexpr const char* kGatherRows = R"(
kernel gather_rows(x: f32[M, N], index: i64[M, K]) -> (out: f32[M, K], flat: f32[M, K]) {
  for m, k in tile(M, K) {
    let columns = index[m, k];
    out[m, k] = x[m, columns];
    flat[m, k] = x[m.index[:, None], columns];
  }
}
)";

constexpr const char* kMasked = R"(
kernel masked(x: T[M, N], index: i32[N]) -> (out: T[M, N], shifted: T[M, N] = 0) where T in (f16, f32) {
  for m, n in tile(M, N) {
    let here = index[n];
    let wanted = here < 5;
    out[m, n] = load(x, (m, here[None, :]), mask=wanted[None, :], other=-1);
    let next = load(x, (m, n.index + 1), mask=(n.index + 1 < N)[None, :]);
    store(shifted, (m, n), next, mask=wanted[None, :]);
  }
}
)";

constexpr const char* kScatter = R"(
kernel scatter(x: f32[M, N], place: i32[M]) -> (out: f32[M, N] = 0) {
  for m in tile(M) {
    let back = M - 1 - m.index;
    out[back, :] = x[m, :];
  }
}
)";

constexpr const char* kOrder = R"(
kernel order(x: f32[M, N], rows: i32[M], columns: i32[N]) -> (a: f32[N, M], b: f32[M, N], c: f32[M, N]) {
  for m, n in tile(M, N) {
    a[n, m] = x[rows[None, m], columns[n, None]];
    b[m, n] = x[rows[m, None], n];
    c[m, n] = x[m, columns[None, n]];
  }
}
)";

TEST(MemoryOps, EmbeddingLookup) {
  for (const char* config : {"", "block.m=1 num_warps=1", "block.m=4", "reduce.N=chunk(1024) num_warps=2"}) {
    for (const int64_t rows : {1, 7, 33}) {
      HostCase c{kEmbedding, DType::kF16, config, {{"M", rows}, {"N", 64}, {"V", 50}}};
      c.below["ids"] = 50;
      expect_right(c);
      c.config += " vec=1";
      for (const int64_t columns : {1, 127}) {
        c.dims["N"] = columns;
        expect_right(c);
      }
    }
  }
}

TEST(MemoryOps, GatherAlongRows) {
  for (const char* config : {"vec=1", "vec=1 block.m=8 block.k=64 num_warps=2"}) {
    for (const int64_t rows : {1, 9, 40}) {
      for (const int64_t columns : {1, 31, 130}) {
        HostCase c{kGatherRows, DType::kF32, config, {{"M", rows}, {"N", 77}, {"K", columns}}};
        c.below["index"] = 77;
        expect_right(c);
      }
    }
  }
}

TEST(MemoryOps, MaskAndOther) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    for (const char* config : {"", "block.m=4 block.n=64 num_warps=1", "vec=1"}) {
      for (const int64_t columns : {8, 64, 136}) {
        HostCase c{kMasked, dtype, config, {{"M", 17}, {"N", columns}}};
        c.below["index"] = std::min<int64_t>(9, columns);
        expect_right(c);
      }
    }
  }
}

/// Known answers of Philox 4x32-10: counter, key, first word of the result.
TEST(MemoryOps, RandomNumbersAreThoseOfPhilox) {
  constexpr const char* kWords = R"(
kernel words(c0: i64[M], c1: i64[M], c2: i64[M], c3: i64[M], seed: i64) -> (out: i64[M], unit: f32[M]) {
  for m in tile(M) {
    out[m] = randint(seed, 0, 0x80000000, c0[m], c1[m], c2[m], c3[m]);
    unit[m] = rand(seed, c0[m], c1[m], c2[m], c3[m]);
  }
}
)";
  struct Known {
    std::array<int64_t, 4> counter;
    uint64_t seed;
    uint32_t word;
  };
  const Known known[] = {
      {{0, 0, 0, 0}, 0, 0x6627e8d5},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, ~uint64_t{0}, 0x408f276d},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, 0x299f31d0a4093822, 0xd16cfe09},
  };
  HostCase c{kWords, DType::kF32, "vec=1", {{"M", 1}}};
  const Result<Kernel> kernel = logical_kernel(c);
  ASSERT_TRUE(kernel) << kernel.status().message();
  for (const Known& k : known) {
    c.scalars = {static_cast<int64_t>(k.seed)};
    for (size_t i = 0; i < 4; ++i) c.integers["c" + std::to_string(i)] = {k.counter[i]};
    expect_right(*kernel, c);
    std::array<int64_t, 4> counter = k.counter;
    int64_t integer = 0;
    float unit = 0;
    std::vector<HostTensor> tensors;
    for (int64_t& word : counter) tensors.push_back({DType::kI64, &word, {1}, {1}});
    tensors.push_back({DType::kI64, &integer, {1}, {1}});
    tensors.push_back({DType::kF32, &unit, {1}, {1}});
    const Result<OracleResult> result = interpret(*kernel, tensors, c.scalars, {});
    ASSERT_TRUE(result) << result.status().message();
    EXPECT_EQ(result->outputs[4][0].integer, k.word >> 1);
    EXPECT_EQ(result->outputs[5][0].value, static_cast<double>(k.word >> 8) * 0x1p-24);
  }
}

TEST(MemoryOps, ScatterRows) {
  for (int64_t m : {1, 31, 66}) expect_right({kScatter, DType::kF32, "", {{"M", m}, {"N", 48}}});
}

TEST(MemoryOps, AxesOfAPlace) {
  for (const char* config : {"vec=1", "vec=1 block.m=16 block.n=8 num_warps=1"}) {
    HostCase c{kOrder, DType::kF32, config, {{"M", 37}, {"N", 21}}};
    c.below["rows"] = 37;
    c.below["columns"] = 21;
    expect_right(c);
  }
}

}  // namespace
}  // namespace kaon::compiler
