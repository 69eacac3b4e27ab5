// Unary functions of the oracle: each with how an error of its argument grows, and the device's own error.
#include <cmath>
#include <limits>

#include "compiler/ir/math_error.h"
#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/rounding.h"

namespace kaon::compiler {
namespace {

/// |f(x + d) - f(x)| for |d| <= b, given f(x) = y; kUnknown where f leaves its domain.
double spread(UnaryFn fn, double x, double y, double b) {
  if (b == 0) return 0;
  switch (fn) {
    case UnaryFn::kExp: return b <= 1 ? y * b * (1 + b) : y * std::expm1(b);
    case UnaryFn::kExp2: return b <= 1 ? y * b * (1 + b) : y * std::expm1(b);
    case UnaryFn::kLog: return x > b ? -std::log1p(-b / x) : kUnknown;
    case UnaryFn::kLog2: return x > b ? -std::log1p(-b / x) * M_LOG2E : kUnknown;
    case UnaryFn::kSqrt: return x >= b ? y - std::sqrt(x - b) : kUnknown;
    case UnaryFn::kRsqrt: return x > b ? 1 / std::sqrt(x - b) - y : kUnknown;
    case UnaryFn::kErf: return 1.1283791670955126 * b;  // 2 / sqrt(pi)
    case UnaryFn::kSigmoid: return 0.25 * b;
    default: return b;  // sin, cos, tanh: slope at most 1
  }
}

double apply(UnaryFn fn, double x) {
  switch (fn) {
    case UnaryFn::kExp: return std::exp(x);
    case UnaryFn::kExp2: return std::exp2(x);
    case UnaryFn::kLog: return std::log(x);
    case UnaryFn::kLog2: return std::log2(x);
    case UnaryFn::kSqrt: return std::sqrt(x);
    case UnaryFn::kRsqrt: return 1 / std::sqrt(x);
    case UnaryFn::kSin: return std::sin(x);
    case UnaryFn::kCos: return std::cos(x);
    case UnaryFn::kTanh: return std::tanh(x);
    case UnaryFn::kErf: return std::erf(x);
    default: return 1 / (1 + std::exp(-x));  // sigmoid
  }
}

template <UnaryFn kFn>
void eval_math(const Tile& a, Tile* result) {
  const Rounding rounding(a.dtype);
  constexpr MathError error = math_error(kFn);
  const double ulp = a.dtype == DType::kF64 ? 0x1p-52 : 0x1p-23;
  const double absolute =
      error.absolute * (ulp / 0x1p-23) +
      (error.may_flush ? float_format(a.dtype == DType::kF64 ? a.dtype : DType::kF32).min_normal : 0);
  const Bounds bounds(a);
  for (size_t i = 0; i < a.count; ++i) {
    const double x = a.floats[i];
    const double b = bounds[i];
    double y = apply(kFn, x);
    double propagated = b == kUnknown ? kUnknown : spread(kFn, x, y, b);
    // Infinite arguments give their limits exactly; 0 * inf in the bound would not.
    if (std::isfinite(x) && std::isfinite(y)) {
      propagated += (error.ulps + error.ulps_per_x * std::fabs(x)) * ulp * (std::fabs(y) + propagated) + absolute;
      constexpr bool is_periodic = kFn == UnaryFn::kSin || kFn == UnaryFn::kCos;
      if (is_periodic && std::fabs(x) + b > most_accurate_angle(a.dtype)) propagated = 1 + std::fabs(y);
    }
    result->bounds[i] = rounding.finish(&y, propagated);
    result->floats[i] = y;
  }
}

double apply_step(UnaryFn fn, double x) {
  switch (fn) {
    case UnaryFn::kFloor: return std::floor(x);
    case UnaryFn::kCeil: return std::ceil(x);
    case UnaryFn::kRound: return std::nearbyint(x);
    default: return std::trunc(x);
  }
}

/// Monotonic step functions: the bound reaches to the steps of both ends.
void eval_step(UnaryFn fn, const Tile& a, Tile* result) {
  const Bounds bounds(a);
  for (size_t i = 0; i < a.count; ++i) {
    const double x = a.floats[i];
    const double b = bounds[i];
    const double y = apply_step(fn, x);
    result->floats[i] = y;
    if (b == 0 || b == kUnknown)
      result->bounds[i] = b;
    else
      result->bounds[i] = std::fmax(apply_step(fn, x + b) - y, y - apply_step(fn, x - b));
  }
}

void eval_sign(UnaryFn fn, const Tile& a, Tile* result) {
  for (size_t i = 0; i < a.count; ++i) {
    result->floats[i] = fn == UnaryFn::kNeg ? -a.floats[i] : std::fabs(a.floats[i]);
    result->bounds[i] = a.bound(i);
  }
}

void eval_isnan(const Tile& a, Tile* result) {
  for (size_t i = 0; i < a.count; ++i) {
    result->ints[i] = std::isnan(a.floats[i]);
    result->bounds[i] = a.bound(i) == kUnknown ? 1 : 0;
  }
}

void eval_int(UnaryFn fn, const Tile& a, Tile* result) {
  for (size_t i = 0; i < a.count; ++i) {
    const auto x = static_cast<uint64_t>(a.ints[i]);
    uint64_t y = x;
    if (fn == UnaryFn::kNot) y = a.dtype == DType::kBool ? x ^ 1 : ~x;
    if (fn == UnaryFn::kNeg || (fn == UnaryFn::kAbs && a.ints[i] < 0)) y = 0 - x;
    result->ints[i] = wrap_int(a.dtype, static_cast<int64_t>(y));
    result->bounds[i] = a.bound(i);
  }
}

}  // namespace

void eval_unary(UnaryFn fn, const Tile& a, Tile* result) {
  result->shape(unary_result_dtype(fn, a.dtype), a.sizes, /*is_exact=*/false);
  switch (fn) {
#define KAON_ORACLE_MATH(fn) \
  case UnaryFn::fn: eval_math<UnaryFn::fn>(a, result); break;
    KAON_ORACLE_MATH(kExp)
    KAON_ORACLE_MATH(kExp2)
    KAON_ORACLE_MATH(kLog)
    KAON_ORACLE_MATH(kLog2)
    KAON_ORACLE_MATH(kSqrt)
    KAON_ORACLE_MATH(kRsqrt)
    KAON_ORACLE_MATH(kSin)
    KAON_ORACLE_MATH(kCos)
    KAON_ORACLE_MATH(kTanh)
    KAON_ORACLE_MATH(kErf)
    KAON_ORACLE_MATH(kSigmoid)
#undef KAON_ORACLE_MATH
    case UnaryFn::kFloor:
    case UnaryFn::kCeil:
    case UnaryFn::kRound:
    case UnaryFn::kTrunc: eval_step(fn, a, result); break;
    case UnaryFn::kIsNan: eval_isnan(a, result); break;
    case UnaryFn::kNot: eval_int(fn, a, result); break;
    case UnaryFn::kNeg:
    case UnaryFn::kAbs: a.is_float() ? eval_sign(fn, a, result) : eval_int(fn, a, result); break;
  }
  result->settle();
}

}  // namespace kaon::compiler
