// Kernels that together use every element-wise op, cast and reduction, for both targets' tests.
#pragma once

#include <string>

#include "runtime/base/dtype.h"

namespace kaon::compiler {

inline constexpr const char* kFloatFunctions = R"(
kernel functions(x: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N], f: T[N], g: T[N], h: T[N], i: T[N]) 
    where T in (f16, bf16, f32, f64) {
  for n in tile(N) {
    let v = x[n];
    a[n] = exp(v); b[n] = exp2(v); c[n] = sin(v); d[n] = cos(v); e[n] = tanh(v); f[n] = erf(v); g[n] = sigmoid(v);
    h[n] = floor(v) + ceil(v); i[n] = round(v) - trunc(v);
  }
})";

inline constexpr const char* kPositiveFunctions = R"(
kernel functions(x: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N]) 
    where T in (f16, bf16, f32, f64) {
  for n in tile(N) {
    let v = abs(x[n]);
    a[n] = log(v); b[n] = log2(v); c[n] = sqrt(v); d[n] = rsqrt(v + T(0.125)); e[n] = -v;
  }
})";

inline constexpr const char* kFloatPairs = R"(
kernel pairs(x: T[N], y: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N], f: T[N], g: T[N], h: T[N]) 
    where T in (f16, bf16, f32, f64) {
  for n in tile(N) {
    let u = x[n]; let v = y[n];
    a[n] = u - v; b[n] = u * v; c[n] = u / v; d[n] = maximum(u, v); e[n] = minimum(u, v);
    f[n] = where(u < v, u, v); g[n] = where(u == v, v, u * u + v); h[n] = pow(abs(u), v);
  }
})";

inline constexpr const char* kIntegerPairs = R"(
kernel pairs(x: T[N], y: T[N]) -> (a: T[N], b: T[N], c: T[N], d: T[N], e: T[N],
    f: T[N], g: T[N], h: T[N], i: T[N], j: T[N])
    where T in (i8, u8, i16, i32, u32, i64) {
  for n in tile(N) {
    let u = x[n]; let v = y[n];
    a[n] = u - v; b[n] = u * v; c[n] = u / v; d[n] = u % v; e[n] = maximum(u, v); f[n] = minimum(u, v);
    g[n] = (u & v) | (u ^ v); h[n] = u << (v & T(7)); i[n] = u >> (v & T(7)); j[n] = where(u <= v, u, v);
  }
})";

inline constexpr const char* kFolds = R"(
kernel folds(x: T[M, N]) -> (a: T[M], b: T[M], c: T[M], d: T[M])
    where T in (f16, bf16, f32, f64, i8, u8, i16, i32, u32, i64) {
  for m in tile(M) {
    let row = x[m, :];
    a[m] = sum(row, dim=1); b[m] = amax(row, dim=1); c[m] = amin(row, dim=1); d[m] = prod(row, dim=1);
  }
})";

inline constexpr DType kCastTypes[] = {DType::kBool, DType::kI8,  DType::kU8,   DType::kI16, DType::kI32, DType::kU32,
                                       DType::kI64,  DType::kF16, DType::kBF16, DType::kF32, DType::kF64};

/// Casts its input to each of kCastTypes.
inline std::string casts_kernel() {
  std::string source = "kernel casts(x: T[N]) -> (";
  std::string body;
  int number = 0;
  for (DType to : kCastTypes) {
    const std::string name = "o" + std::to_string(number++);
    source += (number > 1 ? ", " : "") + name + ": " + dtype_name(to) + "[N]";
    body += name + "[n] = " + dtype_name(to) + "(x[n]); ";
  }
  source += ") where T in (bool, i8, u8, i16, i32, u32, i64, f16, bf16, f32, f64) { for n in tile(N) { " + body + "} }";
  return source;
}

}  // namespace kaon::compiler
