// Reductions, loops, branches, views and scalars on the CPU target, against the oracle.
#include "tests/unit/codegen/host_case.h"
#include "tests/unit/codegen/kernels.h"

namespace kaon::compiler {
namespace {

TEST(Reductions, EveryFunctionOfEveryNumberType) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kI8, DType::kU8, DType::kI16,
                      DType::kI32, DType::kU32, DType::kI64}) {
    HostCase c{kFolds, dtype, "num_warps=2 reduce.N=resident(2)", {{"M", 3}, {"N", 80}}};
    c.scale = 0.5;
    expect_right(c);
    c.config = "num_warps=2 reduce.N=chunk(1024)";
    expect_right(c);
  }
}

TEST(Reductions, OverTheFirstDimension) {
  const std::string source = R"(
kernel columns(x: T[M, N]) -> (out: T[N]) where T in (f16, f32) {
  for n in tile(N) { out[n] = T(sum(f32(x[:, n]), dim=0)); }
})";
  for (DType dtype : {DType::kF16, DType::kF32}) {
    expect_right({source, dtype, "num_warps=1 block.n=256 div.N=1", {{"M", 37}, {"N", 304}}});
  }
}

TEST(Reductions, LayerNormReadsRowsAndWeights) {
  const std::string source = R"(
kernel layer_norm(x: T[M, N], w: T[N], b: T[N], eps: f32) -> (out: T[M, N]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let centred = row - mean(row, dim=1, keepdim=true);
    let scale = rsqrt(mean(centred * centred, dim=1, keepdim=true) + eps);
    out[m, :] = T(centred * scale * f32(w[:])[None, :] + f32(b[:])[None, :]);
  }
})";
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    HostCase c{source, dtype, "num_warps=2 reduce.N=resident(2)", {{"M", 3}, {"N", 328}}, {0x3a83126f}};
    expect_right(c);
    c.config = "num_warps=1 block.m=2 reduce.N=chunk(1024)";
    expect_right(c);
  }
}

TEST(Control, TwoTileAxesAndCoordinates) {
  const std::string source = R"(
kernel outer(x: f32[M], y: f32[N]) -> (out: f32[M, N]) {
  for m, n in tile(M, N) {
    out[m, n] = x[m][:, None] * y[n][None, :] + f32(m.index)[:, None] - f32(n.index)[None, :];
  }
})";
  expect_right({source, DType::kF32, "num_warps=2 block.m=2 block.n=128 div.N=1", {{"M", 5}, {"N", 204}}});
}

TEST(Control, AScalarDecides) {
  const std::string source = R"(kernel choose {
  stage logical
  dim N
  tensor x: f32[N]
  tensor out: f32[N] output
  scalar which: i32 = %0:i32
  scalar factor: f32 = %1:f32
  axis n: tile begin 0, end N
  tile {axes = [n]} {
    %2:f32[n] = load x[n]
    %3:i32 = const {value = 3}
    %4:bool = compare %0, %3 {fn = "gt"}
    %5:f32[1] = expand_dims %1 {dim = 0}
    %6:f32[n] = broadcast %5
    %7:f32[n] = if %4 {
      %8:f32[n] = binary %2, %6 {fn = "mul"}
      yield %8
    } else {
      %9:f32[n] = binary %2, %6 {fn = "sub"}
      yield %9
    }
    store out[n] %7
  }
}
)";
  for (int64_t which : {-7, 4}) {
    expect_right({source, DType::kF32, "num_warps=1 block.n=256 div.N=1", {{"N", 300}}, {which, 0x40200000}});
  }
}

TEST(Control, ADeviceLoopCarriesATile) {
  const std::string source = R"(
kernel rows(x: f32[K, N]) -> (out: f32[N]) {
  for n in tile(N) {
    var acc = zeros(f32, n);
    for k in tile(K) { acc += sum(x[k, n], dim=0); }
    out[n] = acc;
  }
})";
  expect_right({source, DType::kF32, "num_warps=1 block.n=128 block.k=4 div.N=1", {{"K", 11}, {"N", 132}}});
}

}  // namespace
}  // namespace kaon::compiler
