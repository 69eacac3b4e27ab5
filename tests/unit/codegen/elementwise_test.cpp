// Every element-wise op and every cast on the CPU target, against the oracle.
#include "tests/unit/codegen/host_case.h"
#include "tests/unit/codegen/kernels.h"

namespace kaon::compiler {
namespace {

const DType kFloats[] = {DType::kF16, DType::kBF16, DType::kF32, DType::kF64};
const DType kIntegers[] = {DType::kI8, DType::kU8, DType::kI16, DType::kI32, DType::kU32, DType::kI64};
constexpr const char* kConfig = "num_warps=1 block.n=256";

HostCase elementwise(const std::string& source, DType dtype, double scale = 2) {
  HostCase c{source, dtype, kConfig, {{"N", 512}}};
  c.scale = scale;
  return c;
}

TEST(Elementwise, FunctionsOfAnyFloat) {
  for (DType dtype : kFloats) {
    for (double scale : {0.01, 2.0, 30.0}) expect_right(elementwise(kFloatFunctions, dtype, scale));
  }
}

TEST(Elementwise, FunctionsOfPositiveFloats) {
  for (DType dtype : kFloats) {
    for (double scale : {0.5, 1000.0}) expect_right(elementwise(kPositiveFunctions, dtype, scale));
  }
}

TEST(Elementwise, FloatsInPairs) {
  for (DType dtype : kFloats) expect_right(elementwise(kFloatPairs, dtype));
}

TEST(Elementwise, OneDivisorForManyElements) {
  const std::string source = R"(
kernel scaled(x: T[N], s: T[M]) -> (out: T[M, N]) where T in (f16, bf16, f32) {
  for m in tile(M) { out[m, :] = broadcast_rows(x[:], s[m]); }
}
fn broadcast_rows(row, d) { return row[None, :] / d[:, None]; }
)";
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    for (double scale : {1e-3, 3.0, 1e3}) {
      HostCase c{source, dtype, "num_warps=1 reduce.N=resident(1)", {{"M", 20}, {"N", 64}}};
      c.scale = scale;
      expect_right(c);
    }
  }
}

TEST(Elementwise, IntegersInPairs) {
  for (DType dtype : kIntegers) {
    for (double scale : {0.5, 20.0}) expect_right(elementwise(kIntegerPairs, dtype, scale));
  }
}

TEST(Elementwise, CastsBetweenAllTypes) {
  for (DType from : kCastTypes) {
    for (double scale : {0.05, 3.0, 500.0}) expect_right(elementwise(casts_kernel(), from, scale));
  }
}

TEST(Elementwise, EightBitFloatsAreStoredAndRead) {
  const std::string store = R"(
kernel store(x: f32[N], y: f16[N]) -> (a: f8e4m3[N], b: f8e5m2[N], c: f8e4m3[N]) {
  for n in tile(N) { a[n] = f8e4m3(x[n]); b[n] = f8e5m2(x[n]); c[n] = f8e4m3(f32(y[n])); }
})";
  const std::string load = R"(
kernel load(x: T[N]) -> (a: f32[N]) where T in (f8e4m3, f8e5m2) {
  for n in tile(N) { a[n] = f32(x[n]) * 3.0; }
})";
  for (double scale : {0.001, 0.05, 3.0, 500.0, 1e4}) expect_right(elementwise(store, DType::kF32, scale));
  for (DType dtype : {DType::kF8E4M3, DType::kF8E5M2}) {
    for (double scale : {0.01, 3.0, 500.0}) expect_right(elementwise(load, dtype, scale));
  }
}

}  // namespace
}  // namespace kaon::compiler
