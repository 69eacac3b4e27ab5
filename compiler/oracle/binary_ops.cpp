// Binary functions, comparisons and selection of the oracle.
#include <algorithm>
#include <cmath>

#include "compiler/ir/math_error.h"
#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/rounding.h"

namespace kaon::compiler {
namespace {

/// A float element: what exact arithmetic gives, and how far the device may be.
struct Element {
  double value;
  double bound;
};

double times(double magnitude, double bound) { return bound == 0 ? 0 : magnitude * bound; }

/// An infinite factor stays infinite unless the other may be 0 or change its sign.
double mul_spread(Element a, Element b) {
  const bool certain_a = a.bound == 0 || std::fabs(a.value) > a.bound;
  const bool certain_b = b.bound == 0 || std::fabs(b.value) > b.bound;
  if ((std::isinf(a.value) || std::isinf(b.value)) && certain_a && certain_b) return 0;
  return times(std::fabs(a.value), b.bound) + times(std::fabs(b.value), a.bound) + times(a.bound, b.bound);
}

double div_spread(Element a, Element b, double quotient, double ulp, double flush) {
  if (a.bound == kUnknown || b.bound == kUnknown) return kUnknown;
  if (b.bound != 0 && std::fabs(b.value) <= b.bound) return kUnknown;
  if (!std::isfinite(quotient) || std::isinf(b.value)) {
    return a.bound != 0 && b.value == 0 && std::fabs(a.value) <= a.bound ? kUnknown : 0;
  }
  const double spread = (a.bound + std::fabs(quotient) * b.bound) / (std::fabs(b.value) - b.bound);
  return spread + kDivError.ulps * ulp * (std::fabs(quotient) + spread) + (quotient == 0 && spread == 0 ? 0 : flush);
}

double pow_spread(Element a, Element b, double power, double ulp, double flush) {
  if (a.bound == kUnknown || b.bound == kUnknown) return kUnknown;
  const bool is_exact = a.bound == 0 && b.bound == 0;
  if (is_exact && (!std::isfinite(power) || power == 0)) return power == 0 ? flush : 0;
  if (!is_exact && !(a.value > a.bound)) return kUnknown;
  const double log_a = std::fabs(std::log(std::fabs(a.value)));
  const double relative_a = a.bound == 0 ? 0 : -std::log1p(-a.bound / a.value);
  const double exponent = (std::fabs(b.value) + b.bound) * relative_a + log_a * b.bound;
  const double exponent_size = std::isfinite(log_a) ? std::fabs(b.value) * log_a : 0;
  const double device = (kPowError.ulps + kPowError.ulps_per_x * exponent_size) * ulp;
  const double spread = std::fabs(power) * std::expm1(exponent);
  return spread + device * (std::fabs(power) + spread) + flush;
}

Element max_element(Element a, Element b) {
  if (a.bound == kUnknown || b.bound == kUnknown) return {a.value, kUnknown};
  if (std::isnan(a.value) || std::isnan(b.value)) return {std::nan(""), 0};
  const double value = greater_of(a.value, b.value);
  if (std::isinf(value)) return {value, 0};
  const double high = std::max(a.value + a.bound, b.value + b.bound);
  const double low = std::max(a.value - a.bound, b.value - b.bound);
  return {value, std::max(high - value, value - low)};
}

Element min_element(Element a, Element b) {
  const Element negated = max_element({-a.value, a.bound}, {-b.value, b.bound});
  return {-negated.value, negated.bound};
}

template <typename Apply>
void for_each_float(const Tile& a, const Tile& b, Tile* result, Apply apply) {
  const Bounds a_bounds(a), b_bounds(b);
  for (size_t i = 0; i < a.count; ++i) {
    const Element element = apply(Element{a.floats[i], a_bounds[i]}, Element{b.floats[i], b_bounds[i]});
    result->floats[i] = element.value;
    result->bounds[i] = element.bound;
  }
}

void eval_float(BinaryFn fn, const Tile& a, const Tile& b, Tile* result) {
  const Rounding rounding(a.dtype);
  const bool is_f64 = a.dtype == DType::kF64;
  const double ulp = is_f64 ? 0x1p-52 : 0x1p-23;
  const double flush = float_format(is_f64 ? DType::kF64 : DType::kF32).min_normal;
  auto rounded = [&](double value, double propagated) {
    const double bound = rounding.finish(&value, propagated);
    return Element{value, bound};
  };
  switch (fn) {
    case BinaryFn::kAdd:
      return for_each_float(a, b, result,
                            [&](Element x, Element y) { return rounded(x.value + y.value, x.bound + y.bound); });
    case BinaryFn::kSub:
      return for_each_float(a, b, result,
                            [&](Element x, Element y) { return rounded(x.value - y.value, x.bound + y.bound); });
    case BinaryFn::kMul:
      return for_each_float(a, b, result,
                            [&](Element x, Element y) { return rounded(x.value * y.value, mul_spread(x, y)); });
    case BinaryFn::kDiv:
      return for_each_float(a, b, result, [&](Element x, Element y) {
        const double quotient = x.value / y.value;
        return rounded(quotient, div_spread(x, y, quotient, ulp, flush));
      });
    case BinaryFn::kPow:
      return for_each_float(a, b, result, [&](Element x, Element y) {
        const double power = std::pow(x.value, y.value);
        return rounded(power, pow_spread(x, y, power, ulp, flush));
      });
    case BinaryFn::kMin: return for_each_float(a, b, result, min_element);
    default: return for_each_float(a, b, result, max_element);
  }
}

int64_t floor_div(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  const int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t shift(BinaryFn fn, DType dtype, int64_t a, int64_t b) {
  const int bits = dtype_bytes(dtype) * 8;
  // A count outside the type shifts everything out, as PTX shifts clamp; it is read as unsigned.
  const bool all = b < 0 || b >= bits;
  if (fn == BinaryFn::kShl) return all ? 0 : static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  if (all) return a < 0 ? -1 : 0;
  return a >> b;
}

int64_t apply_int(BinaryFn fn, DType dtype, int64_t a, int64_t b) {
  const auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  switch (fn) {
    case BinaryFn::kAdd: return wrap_int(dtype, static_cast<int64_t>(ua + ub));
    case BinaryFn::kSub: return wrap_int(dtype, static_cast<int64_t>(ua - ub));
    case BinaryFn::kMul: return wrap_int(dtype, static_cast<int64_t>(ua * ub));
    case BinaryFn::kFloorDiv: return wrap_int(dtype, floor_div(a, b));
    case BinaryFn::kMod:
      return b == 0 ? 0 : wrap_int(dtype, static_cast<int64_t>(ua - static_cast<uint64_t>(floor_div(a, b)) * ub));
    case BinaryFn::kMin: return std::min(a, b);
    case BinaryFn::kMax: return std::max(a, b);
    case BinaryFn::kAnd: return a & b;
    case BinaryFn::kOr: return a | b;
    case BinaryFn::kXor: return a ^ b;
    default: return wrap_int(dtype, shift(fn, dtype, a, b));
  }
}

/// Integers are inexact only downstream of a float that was truncated near a step.
double int_bound(BinaryFn fn, DType dtype, int64_t a, double a_bound, int64_t b, double b_bound) {
  if (a_bound == 0 && b_bound == 0) return 0;
  if (dtype == DType::kBool) {
    const bool decided_by_a = a_bound == 0 && fn != BinaryFn::kXor && (a != 0) == (fn == BinaryFn::kOr);
    const bool decided_by_b = b_bound == 0 && fn != BinaryFn::kXor && (b != 0) == (fn == BinaryFn::kOr);
    return decided_by_a || decided_by_b ? 0 : 1;
  }
  const double x = static_cast<double>(a), y = static_cast<double>(b);
  const double limit = std::ldexp(1.0, dtype_bytes(dtype) * 8 - 2);
  double bound = kUnknown, size = kUnknown;
  if (fn == BinaryFn::kAdd || fn == BinaryFn::kSub) bound = a_bound + b_bound, size = std::fabs(x) + std::fabs(y);
  if (fn == BinaryFn::kMul) bound = mul_spread({x, a_bound}, {y, b_bound}), size = std::fabs(x * y);
  if (fn == BinaryFn::kMin) return min_element({x, a_bound}, {y, b_bound}).bound;
  if (fn == BinaryFn::kMax) return max_element({x, a_bound}, {y, b_bound}).bound;
  return size + bound < limit ? bound : kUnknown;  // near the limit it may wrap
}

void eval_int(BinaryFn fn, const Tile& a, const Tile& b, Tile* result) {
  const Bounds a_bounds(a), b_bounds(b);
  for (size_t i = 0; i < a.count; ++i) {
    result->ints[i] = apply_int(fn, a.dtype, a.ints[i], b.ints[i]);
    if (!result->exact) result->bounds[i] = int_bound(fn, a.dtype, a.ints[i], a_bounds[i], b.ints[i], b_bounds[i]);
  }
}

template <typename T>
bool holds(CompareFn fn, T a, T b) {
  switch (fn) {
    case CompareFn::kEq: return a == b;
    case CompareFn::kNe: return a != b;
    case CompareFn::kLt: return a < b;
    case CompareFn::kLe: return a <= b;
    case CompareFn::kGt: return a > b;
    default: return a >= b;
  }
}

/// True when no elements within the bounds compare otherwise.
bool is_decided(double a, double b, double slack) {
  if (slack == 0) return true;
  if (slack == kUnknown) return false;
  if (std::isnan(a) || std::isnan(b)) return true;
  return std::fabs(a - b) > slack * (1 + 0x1p-50);
}

}  // namespace

void eval_binary(BinaryFn fn, const Tile& a, const Tile& b, Tile* result) {
  const bool is_exact = !a.is_float() && a.exact && b.exact;
  result->shape(a.dtype, a.sizes, is_exact);
  a.is_float() ? eval_float(fn, a, b, result) : eval_int(fn, a, b, result);
  result->settle();
}

void eval_compare(CompareFn fn, const Tile& a, const Tile& b, Tile* result) {
  result->shape(DType::kBool, a.sizes, a.exact && b.exact);
  for (size_t i = 0; i < a.count; ++i) {
    result->ints[i] = a.is_float() ? holds(fn, a.floats[i], b.floats[i]) : holds(fn, a.ints[i], b.ints[i]);
  }
  if (result->exact) return;
  for (size_t i = 0; i < a.count; ++i) {
    const double x = a.is_float() ? a.floats[i] : static_cast<double>(a.ints[i]);
    const double y = a.is_float() ? b.floats[i] : static_cast<double>(b.ints[i]);
    result->bounds[i] = is_decided(x, y, a.bound(i) + b.bound(i)) ? 0 : 1;
  }
  result->settle();
}

void cover_float(double* value, double* bound, double other, double other_bound) {
  if (*bound == other_bound && (*value == other || (std::isnan(*value) && std::isnan(other)))) return;
  if (!std::isfinite(*value) || !std::isfinite(other))
    *bound = kUnknown;
  else
    *bound = std::max(*bound, std::fabs(other - *value) + other_bound);
}

void cover_int(DType dtype, int64_t* value, double* bound, int64_t other, double other_bound) {
  if (dtype == DType::kBool) {
    *bound = *value == other ? std::max(*bound, other_bound) : 1;
  } else {
    *bound = std::max(*bound, std::fabs(static_cast<double>(other) - static_cast<double>(*value)) + other_bound);
  }
}

void eval_select(const Tile& condition, const Tile& a, const Tile& b, Tile* result) {
  result->shape(a.dtype, a.sizes, condition.exact && a.exact && b.exact);
  for (size_t i = 0; i < a.count; ++i) {
    const Tile& chosen = condition.ints[i] ? a : b;
    const Tile& other = condition.ints[i] ? b : a;
    if (a.is_float())
      result->floats[i] = chosen.floats[i];
    else
      result->ints[i] = chosen.ints[i];
    if (result->exact) continue;
    result->bounds[i] = chosen.bound(i);
    if (condition.bound(i) == 0) continue;
    if (a.is_float())
      cover_float(&result->floats[i], &result->bounds[i], other.floats[i], other.bound(i));
    else
      cover_int(a.dtype, &result->ints[i], &result->bounds[i], other.ints[i], other.bound(i));
  }
  result->settle();
}

}  // namespace kaon::compiler
