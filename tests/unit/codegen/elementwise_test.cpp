// Every element-wise op and every cast on the CPU target, against the oracle.
#include "tests/unit/codegen/host_case.h"

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
  const std::string source = R"(
kernel functions(x: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N], f: T[N], g: T[N], h: T[N], i: T[N]) where T in (f16, bf16, f32, f64) {
  for n in tile(N) {
    let v = x[n];
    a[n] = exp(v); b[n] = exp2(v); c[n] = sin(v); d[n] = cos(v); e[n] = tanh(v); f[n] = erf(v); g[n] = sigmoid(v);
    h[n] = floor(v) + ceil(v); i[n] = round(v) - trunc(v);
  }
})";
  for (DType dtype : kFloats) {
    for (double scale : {0.01, 2.0, 30.0}) expect_right(elementwise(source, dtype, scale));
  }
}

TEST(Elementwise, FunctionsOfPositiveFloats) {
  const std::string source = R"(
kernel functions(x: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N]) where T in (f16, bf16, f32, f64) {
  for n in tile(N) {
    let v = abs(x[n]);
    a[n] = log(v); b[n] = log2(v); c[n] = sqrt(v); d[n] = rsqrt(v + T(0.125)); e[n] = -v;
  }
})";
  for (DType dtype : kFloats) {
    for (double scale : {0.5, 1000.0}) expect_right(elementwise(source, dtype, scale));
  }
}

TEST(Elementwise, FloatsInPairs) {
  const std::string source = R"(
kernel pairs(x: T[N], y: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N], f: T[N], g: T[N], h: T[N]) where T in (f16, bf16, f32, f64) {
  for n in tile(N) {
    let u = x[n]; let v = y[n];
    a[n] = u - v; b[n] = u * v; c[n] = u / v; d[n] = maximum(u, v); e[n] = minimum(u, v);
    f[n] = where(u < v, u, v); g[n] = where(u == v, v, u * u + v); h[n] = pow(abs(u), v);
  }
})";
  for (DType dtype : kFloats) expect_right(elementwise(source, dtype));
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
  const std::string source = R"(
kernel pairs(x: T[N], y: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N], f: T[N], g: T[N], h: T[N], i: T[N], j: T[N]) where T in (i8, u8, i16, i32, u32, i64) {
  for n in tile(N) {
    let u = x[n]; let v = y[n];
    a[n] = u - v; b[n] = u * v; c[n] = u / v; d[n] = u % v; e[n] = maximum(u, v); f[n] = minimum(u, v);
    g[n] = (u & v) | (u ^ v); h[n] = u << (v & T(7)); i[n] = u >> (v & T(7)); j[n] = where(u <= v, u, v);
  }
})";
  for (DType dtype : kIntegers) {
    for (double scale : {0.5, 20.0}) expect_right(elementwise(source, dtype, scale));
  }
}

TEST(Elementwise, CastsBetweenAllTypes) {
  const DType all[] = {DType::kBool, DType::kI8,  DType::kU8,   DType::kI16, DType::kI32,    DType::kU32,   DType::kI64,
                       DType::kF16,  DType::kBF16, DType::kF32, DType::kF64};
  std::string source = "kernel casts(x: T[N]) -> (";
  std::string body;
  int number = 0;
  for (DType to : all) {
    const std::string name = "o" + std::to_string(number++);
    source += (number > 1 ? ", " : "") + name + ": " + dtype_name(to) + "[N]";
    body += name + "[n] = " + dtype_name(to) + "(x[n]); ";
  }
  source += ") where T in (bool, i8, u8, i16, i32, u32, i64, f16, bf16, f32, f64) { for n in tile(N) { " + body + "} }";
  for (DType from : all) {
    for (double scale : {0.05, 3.0, 500.0}) expect_right(elementwise(source, from, scale));
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
