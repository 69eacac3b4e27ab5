// Products of matrices on the CPU target, in several layouts of operands and configs, against the oracle.
#include <gtest/gtest.h>

#include <array>
#include <initializer_list>

#include "compiler/config/config_space.h"
#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

const char* const kMatmul = R"(
kernel matmul(a: T[M, K], b: T[K, N]) -> (out: f32[M, N]) where T in (f16, bf16, f32, f8e4m3, f8e5m2) {
  for m, n in tile(M, N) {
    var acc = zeros(f32, m, n);
    for k in tile(K) { acc = dot(a[m, k], b[k, n], acc); }
    out[m, n] = acc;
  }
}
)";

/// Transposed operands: what memory holds is [K, M] and [N, K].
const char* const kTurned = R"(
kernel turned {
  stage logical
  dim K
  dim M
  dim N
  tensor a: f16[K, M]
  tensor b: f16[N, K]
  tensor out: f32[M, N] output
  axis m: tile begin 0, end M
  axis n: tile begin 0, end N
  axis k: tile begin 0, end K
  tile {axes = [m, n]} {
    %0:f32[m, n] = const {value = 0.0}
    %2:f32[m, n] = tile %0 {axes = [k]} (%1:f32[m, n]) {
      %3:f16[k, m] = load a[k, m]
      %4:f16[n, k] = load b[n, k]
      %5:f16[m, k] = permute %3 {perm = [1, 0]}
      %6:f16[k, n] = permute %4 {perm = [1, 0]}
      %7:f32[m, n] = dot %5, %6, %1
      yield %7
    }
    store out[m, n] %2
  }
}
)";

const char* const kSmall = "block.m=16 block.n=16 block.k=16 num_warps=1";

TEST(Dot, EveryElementTypeAndExtent) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF8E4M3, DType::kF8E5M2}) {
    for (const auto& [m, k, n] :
         std::initializer_list<std::array<int64_t, 3>>{{5, 7, 9}, {16, 16, 16}, {1, 1, 1}, {33, 40, 17}, {3, 0, 4}}) {
      SCOPED_TRACE(std::to_string(m) + " " + std::to_string(k) + " " + std::to_string(n));
      expect_right({kMatmul,
                    dtype,
                    "block.m=16 block.n=16 block.k=16 num_warps=1 vec=1 div.K=1 div.N=1",
                    {{"M", m}, {"K", k}, {"N", n}}});
    }
  }
}

TEST(Dot, Configs) {
  const std::map<std::string, int64_t> dims = {{"M", 40}, {"K", 48}, {"N", 72}};
  for (const char* config :
       {"", kSmall, "block.m=32 block.n=64 block.k=16 num_warps=2 div.K=1 div.N=1",
        "block.m=16 block.n=64 block.k=64 num_warps=4 grid.depth=1",
        "block.m=64 block.n=16 block.k=32 num_warps=2 vec=4", "block.m=32 block.n=32 block.k=32 num_warps=4 vec=2"}) {
    expect_right({kMatmul, DType::kF16, config, dims});
    expect_right({kMatmul, DType::kBF16, config, dims}, 2);
  }
}

TEST(Dot, TurnedOperands) {
  for (const char* config : {"", kSmall, "block.m=32 block.n=64 block.k=16 num_warps=2 vec=1"}) {
    expect_right({kTurned, DType::kF16, config, {{"M", 40}, {"K", 24}, {"N", 72}}});
  }
  expect_right({kTurned, DType::kF16, "vec=1", {{"M", 5}, {"K", 33}, {"N", 9}}});
}

TEST(Dot, WholeRowsInChunksAndResident) {
  const std::string source = R"(
kernel rows(a: f16[M, K], b: f16[K, N]) -> (out: f32[M, N]) {
  for m, n in tile(M, N) { out[m, n] = a[m, :] @ b[:, n]; }
}
)";
  for (const char* config : {"", "reduce.K=chunk(16) block.m=16 block.n=16 num_warps=1",
                             "reduce.K=resident(8) block.m=16 block.n=32 num_warps=1"}) {
    for (int64_t k : {0, 8, 24, 64}) expect_right({source, DType::kF16, config, {{"M", 9}, {"K", k}, {"N", 24}}});
  }
}

TEST(Dot, RowsColumnsAndSumAllWhole) {
  const std::string source = R"(
kernel whole(a: f16[M, K], b: f16[K, N], bias: f16[N]) -> (out: f16[M, N]) {
  for m in tile(M) {
    let z = dot(a[m, :], b[:, :], f32(bias[:])[None, :]);
    out[m, :] = f16(z / (1 + exp(-z)));
  }
}
)";
  for (const char* config : {"", "reduce.K=chunk(16) reduce.N=chunk(16) block.m=16 num_warps=1",
                             "reduce.K=chunk(16) reduce.N=resident(4) block.m=16 num_warps=1",
                             "reduce.K=resident(2) reduce.N=chunk(16) block.m=16 num_warps=1"}) {
    expect_right({source, DType::kF16, config, {{"M", 9}, {"K", 24}, {"N", 40}}});
  }
}

TEST(Dot, Batched) {
  const std::string source = R"(
kernel bmm(a: T[B, M, K], b: T[B, K, N]) -> (out: T[B, M, N]) where T in (f16, f32) {
  for i, m, n in tile(B, M, N) {
    var acc = zeros(f32, i, m, n);
    for k in tile(K) { acc = dot(a[i, m, k], b[i, k, n], acc); }
    out[i, m, n] = T(acc);
  }
}
)";
  for (const char* config : {"", "block.i=2 block.m=16 block.n=16 block.k=16 num_warps=1",
                             "block.i=1 block.m=16 block.n=32 block.k=16 num_warps=1 vec=1"}) {
    for (int64_t batch : {0, 1, 3}) {
      if (batch > 0) expect_right({source, DType::kF16, config, {{"B", batch}, {"M", 9}, {"K", 24}, {"N", 16}}});
    }
  }
}

TEST(Dot, OneMatrixForAllOfABatch) {
  const std::string source = R"(
kernel shared_b(a: f32[B, M, K], b: f32[K, N]) -> (out: f32[B, M, N]) {
  for i, m, n in tile(B, M, N) {
    var acc = zeros(f32, i, m, n);
    for k in tile(K) { acc += a[i, m, k] @ b[k, n]; }
    out[i, m, n] = acc;
  }
}
)";
  for (const char* config : {"", "block.i=4 block.m=16 block.n=16 block.k=16 num_warps=2"}) {
    expect_right({source, DType::kF32, config, {{"B", 3}, {"M", 9}, {"K", 20}, {"N", 16}}});
  }
}

TEST(Dot, IntegersOfEightBits) {
  for (const char* type : {"i8", "u8"}) {
    const std::string t = type;
    const std::string source = "kernel int8(a: " + t + "[M, K], b: " + t + R"([K, N]) -> (out: i32[M, N]) {
  for m, n in tile(M, N) {
    var acc = zeros(i32, m, n);
    for k in tile(K) { acc = dot(a[m, k], b[k, n], acc); }
    out[m, n] = acc;
  }
}
)";
    expect_right({source, DType::kI8, "", {{"M", 20}, {"K", 48}, {"N", 32}}});
    expect_right(
        {source, DType::kI8, "block.m=16 block.n=16 block.k=16 num_warps=1 vec=1", {{"M", 5}, {"K", 7}, {"N", 3}}});
  }
}

TEST(Dot, DoubleAndOutputType) {
  const std::string source = R"(
kernel double_rows(a: f64[M, K], b: f64[K, N]) -> (out: f64[M, N], half: f16[M, N]) {
  for m, n in tile(M, N) {
    var acc = zeros(f64, m, n);
    for k in tile(K) { acc = dot(a[m, k], b[k, n], acc=acc); }
    out[m, n] = acc;
    half[m, n] = dot(f16(a[m, :]), f16(b[:, n]), out_dtype=f16);
  }
}
)";
  expect_right({source, DType::kF64, "block.m=16 block.n=16 block.k=16 num_warps=2", {{"M", 9}, {"K", 24}, {"N", 16}}});
}

/// Constant extents that are no power of two are padded alike wherever they meet.
TEST(Dot, ConstantExtents) {
  const std::string source = R"(
kernel heads(q: f16[M, 96], w: f16[96, 24]) -> (out: f32[M, 24]) {
  for m in tile(M) { out[m, :] = q[m, :] @ w[:, :]; }
}
)";
  for (const char* config : {"", "block.m=16 num_warps=1", "block.m=32 num_warps=2 vec=2"}) {
    expect_right({source, DType::kF16, config, {{"M", 21}}});
  }
}

TEST(Dot, ARowTimesAMatrix) {
  const std::string source = R"(
kernel row(v: f16[B, K], w: f16[K, N]) -> (out: f32[B, N]) {
  for b, n in tile(B, N, block=(1, 32)) {
    var acc = zeros(f32, 1, n);
    for k in tile(K) { acc = dot(v[b.begin, k][None, :], w[k, n], acc); }
    out[b.begin, n] = sum(acc, dim=0);
  }
}
)";
  for (const char* config : {"", "block.k=16 num_warps=1"}) {
    expect_right({source, DType::kF16, config, {{"B", 2}, {"K", 40}, {"N", 24}}});
  }
}

/// Lanes of k that do not exist hold 0 and infinity here, whose product would be no number.
TEST(Dot, MissingLanesCountAsNothing) {
  const std::string source = R"(
kernel quotient(a: f32[M, K], b: f32[K, N]) -> (out: f32[M, N]) {
  for m, n in tile(M, N) {
    var acc = zeros(f32, m, n);
    for k in tile(K) { acc = dot(a[m, k], 1.0 / b[k, n], acc); }
    out[m, n] = acc;
  }
}
)";
  for (int64_t k : {1, 7, 19}) {
    expect_right(
        {source, DType::kF32, "block.m=16 block.n=16 block.k=16 num_warps=1 vec=1", {{"M", 4}, {"K", k}, {"N", 5}}});
  }
}

TEST(Dot, TwoDotsInOneLoop) {
  const std::string source = R"(
kernel chain(q: f16[M, D], k: f16[D, L], v: f16[L, E]) -> (out: f32[M, E]) {
  for m, e in tile(M, E) {
    var acc = zeros(f32, m, e);
    for t in tile(L) {
      var score = zeros(f32, m, t);
      for d in tile(D) { score = dot(q[m, d], k[d, t], score); }
      acc = dot(f16(silu(score) / f32(L)), v[t, e], acc);
    }
    out[m, e] = acc;
  }
}
)";
  for (const char* config : {"", "block.m=16 block.e=16 block.t=16 block.d=16 num_warps=1",
                             "block.m=16 block.e=64 block.t=32 block.d=16 num_warps=2"}) {
    expect_right({source, DType::kF16, config, {{"M", 9}, {"D", 24}, {"L", 40}, {"E", 16}}});
  }
}

TEST(Dot, DefaultAndGenericConfigsAreLegal) {
  for (const char* target : {"host", "sm_90"}) {
    for (const char* source : {kMatmul, kTurned}) {
      Result<Kernel> kernel = logical_kernel({source});
      ASSERT_TRUE(kernel) << kernel.status().message();
      const ConfigSpace space(*kernel, *find_target(target));
      EXPECT_EQ(space.why_illegal(space.default_config()), "");
      EXPECT_EQ(space.why_illegal(space.generic_config()), "");
      EXPECT_EQ(space.default_config(), space.normalize(Config()));
    }
  }
}

TEST(Dot, TooLargeTilesAreRefusedInNumbers) {
  Result<Kernel> kernel = logical_kernel({kMatmul});
  ASSERT_TRUE(kernel) << kernel.status().message();
  const ConfigSpace space(*kernel, *find_target("sm_90"));
  const auto why = [&](const char* text) { return space.why_illegal(*Config::from_text(text)); };
  EXPECT_EQ(why("block.m=64 block.n=64 block.k=32 num_warps=1"),
            "the tiles of a dot need about 288 registers a thread, there are 255; lower a block or raise num_warps");
}

}  // namespace
}  // namespace kaon::compiler
