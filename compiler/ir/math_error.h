// How far the device's math functions may be from the exact value: what generated code keeps, LANGUAGE.md states and
// the oracle allows.
#pragma once

#include "compiler/ir/functions.h"
#include "runtime/base/dtype.h"

namespace kaon::compiler {

/// For f(x) at f32: |result - f(x)| <= (ulps + ulps_per_x * |x|) * 2^-23 * |f(x)| + absolute, and results below the
/// smallest normal number may be flushed to zero if `may_flush`. f16 and bf16 compute at f32 and round once more; f64
/// has the same ulps of 2^-52, and absolute scales alike.
struct MathError {
  double ulps = 0;
  double ulps_per_x = 0;  // error of reducing the argument, which grows with it
  double absolute = 0;    // near a zero of f, where relative error says nothing
  bool may_flush = false;
};

constexpr MathError math_error(UnaryFn fn) {
  switch (fn) {
    case UnaryFn::kExp: return {4, 1, 0, true};
    case UnaryFn::kExp2: return {4, 1, 0, true};
    case UnaryFn::kLog: return {4, 0, 0x1p-22, false};
    case UnaryFn::kLog2: return {4, 0, 0x1p-22, false};
    case UnaryFn::kSqrt: return {2, 0, 0, true};
    case UnaryFn::kRsqrt: return {4, 0, 0, false};
    case UnaryFn::kSin: return {4, 0, 0x1p-22, false};
    case UnaryFn::kCos: return {4, 0, 0x1p-22, false};
    case UnaryFn::kTanh: return {8, 0, 0x1p-22, true};
    case UnaryFn::kErf: return {8, 0, 0x1p-22, true};
    case UnaryFn::kSigmoid: return {8, 1, 0, true};
    default: return {};  // neg, not, abs, floor, ceil, round, trunc, isnan are exact
  }
}

/// sin and cos keep their error up to this |x|; beyond, the result is some number in [-1, 1].
constexpr double most_accurate_angle(DType dtype) { return dtype == DType::kF64 ? 0x1p20 : 0x1p30; }

/// Division: correctly rounded unless a faster form is chosen; this covers both.
constexpr MathError kDivError = {2, 0, 0, true};
/// pow(a, b): |x| of MathError is |b * log(a)|.
constexpr MathError kPowError = {16, 2, 0, true};

}  // namespace kaon::compiler
