// Conversions between element types.
#include <algorithm>
#include <cmath>
#include <limits>

#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/rounding.h"

namespace kaon::compiler {
namespace {

struct IntRange {
  int64_t low;
  int64_t high;
};

IntRange int_range(DType dtype) {
  switch (dtype) {
    case DType::kI8: return {-128, 127};
    case DType::kU8: return {0, 255};
    case DType::kI16: return {-32768, 32767};
    case DType::kI32: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case DType::kU32: return {0, std::numeric_limits<uint32_t>::max()};
    default: return {std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max()};
  }
}

/// Every value of `from` is one of `to`.
bool is_widening(DType from, DType to) {
  const FloatFormat& a = float_format(from);
  const FloatFormat& b = float_format(to);
  return a.significand_bits <= b.significand_bits && a.max_finite <= b.max_finite &&
         a.min_subnormal >= b.min_subnormal && (a.has_infinity ? b.has_infinity : true) && !b.saturates;
}

void float_to_float(const Tile& a, DType dtype, Tile* result) {
  const bool widening = is_widening(a.dtype, dtype);
  const bool saturates = float_format(dtype).saturates;
  const double limit = float_format(dtype).max_finite;
  const Rounding rounding(dtype);
  for (size_t i = 0; i < a.count; ++i) {
    double value = a.floats[i];
    double bound = a.bound(i);
    if (!widening && bound == 0) {
      value = round_to(dtype, value);
    } else if (!widening) {
      if (saturates) value = std::clamp(value, -limit, limit);
      // Clamping moves no two values further apart, so the bound stays and no overflow is left to judge.
      if (saturates && bound != kUnknown)
        bound += rounding.unit() * (std::fabs(value) + bound) + rounding.half_subnormal();
      else
        bound = rounding.finish(&value, bound);
    }
    result->floats[i] = value;
    if (!result->exact) result->bounds[i] = bound;
  }
}

void float_to_integer(const Tile& a, DType dtype, Tile* result) {
  for (size_t i = 0; i < a.count; ++i) {
    const double x = a.floats[i];
    const double b = a.bound(i);
    result->ints[i] = float_to_int(dtype, x);
    if (result->exact) continue;
    const auto y = static_cast<double>(result->ints[i]);
    if (b == 0 || b == kUnknown) {
      result->bounds[i] = b;
    } else {
      const auto high = static_cast<double>(float_to_int(dtype, x + b));
      const auto low = static_cast<double>(float_to_int(dtype, x - b));
      result->bounds[i] = std::max(high - y, y - low);
    }
  }
}

void integer_to_float(const Tile& a, DType dtype, Tile* result) {
  const Rounding rounding(dtype);
  for (size_t i = 0; i < a.count; ++i) {
    const int64_t x = a.ints[i];
    const bool fits_double = x >= -(int64_t{1} << 53) && x <= int64_t{1} << 53;
    double value = static_cast<double>(x);
    double bound = a.bound(i);
    if (bound == 0 && fits_double)
      value = round_to(dtype, value);
    else
      bound = rounding.finish(&value, bound + (fits_double ? 0 : std::fabs(value) * 0x1p-53));
    result->floats[i] = value;
    result->bounds[i] = bound;
  }
}

void integer_to_integer(const Tile& a, DType dtype, Tile* result) {
  for (size_t i = 0; i < a.count; ++i) {
    result->ints[i] = wrap_int(dtype, a.ints[i]);
    if (result->exact) continue;
    const double bound = a.bound(i);
    const IntRange range = int_range(dtype);
    const auto x = static_cast<double>(a.ints[i]);
    const bool may_wrap = x - bound < static_cast<double>(range.low) || x + bound > static_cast<double>(range.high);
    result->bounds[i] = bound != 0 && may_wrap ? kUnknown : bound;
  }
}

void to_bool(const Tile& a, Tile* result) {
  for (size_t i = 0; i < a.count; ++i) {
    const double x = a.is_float() ? a.floats[i] : static_cast<double>(a.ints[i]);
    result->ints[i] = x != 0;
    if (!result->exact) result->bounds[i] = a.bound(i) != 0 && !(std::fabs(x) > a.bound(i)) ? 1 : 0;
  }
}

}  // namespace

int64_t float_to_int(DType dtype, double value) {
  const IntRange range = int_range(dtype);
  if (std::isnan(value)) return 0;
  // As doubles the ends of i64 are -2^63 and 2^63, the second of which is out of range already.
  if (value <= static_cast<double>(range.low)) return range.low;
  if (value >= static_cast<double>(range.high)) return range.high;
  return static_cast<int64_t>(value);
}

void eval_cast(const Tile& a, DType dtype, Tile* result) {
  const bool rounds_integers = !a.is_float() && dtype_is_float(dtype);
  result->shape(dtype, a.sizes, a.exact && !rounds_integers);
  if (dtype == DType::kBool)
    to_bool(a, result);
  else if (a.is_float() && result->is_float())
    float_to_float(a, dtype, result);
  else if (a.is_float())
    float_to_integer(a, dtype, result);
  else if (result->is_float())
    integer_to_float(a, dtype, result);
  else
    integer_to_integer(a, dtype, result);
  result->settle();
}

}  // namespace kaon::compiler
