// Rounding to and from small floats by scaling in double.
#include "compiler/oracle/soft_float.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace kaon::compiler {
namespace {

struct Encoding {
  int exponent_bits;
  int fraction_bits;
  int bias;
};

FloatFormat make_format(int significand_bits, int min_exponent, double max_finite) {
  FloatFormat format;
  format.significand_bits = significand_bits;
  format.unit_roundoff = std::ldexp(1.0, -significand_bits);
  format.max_finite = max_finite;
  const int top = std::ilogb(max_finite);
  format.overflow_threshold = max_finite + std::ldexp(1.0, top - significand_bits);
  format.min_normal = std::ldexp(1.0, min_exponent);
  format.min_subnormal = std::ldexp(1.0, min_exponent - (significand_bits - 1));
  return format;
}

FloatFormat make_f64() {
  FloatFormat format = make_format(53, -1022, DBL_MAX);
  format.overflow_threshold = std::numeric_limits<double>::infinity();
  return format;
}

FloatFormat make_f8(int significand_bits, int min_exponent, double max_finite, bool has_infinity) {
  FloatFormat format = make_format(significand_bits, min_exponent, max_finite);
  format.has_infinity = has_infinity;
  format.saturates = true;
  return format;
}

Encoding encoding(DType dtype) {
  switch (dtype) {
    case DType::kF16: return {5, 10, 15};
    case DType::kBF16: return {8, 7, 127};
    case DType::kF8E4M3: return {4, 3, 7};
    default: return {5, 2, 15};  // f8e5m2
  }
}

template <typename To, typename From>
To bit_copy(From from) {
  To to;
  static_assert(sizeof(to) == sizeof(from));
  std::memcpy(&to, &from, sizeof(to));
  return to;
}

}  // namespace

const FloatFormat& float_format(DType dtype) {
  static const FloatFormat f16 = make_format(11, -14, 65504.0);
  static const FloatFormat bf16 = make_format(8, -126, std::ldexp(255.0, 120));
  static const FloatFormat f32 = make_format(24, -126, FLT_MAX);
  static const FloatFormat f64 = make_f64();
  static const FloatFormat e4m3 = make_f8(4, -6, 448.0, /*has_infinity=*/false);
  static const FloatFormat e5m2 = make_f8(3, -14, 57344.0, /*has_infinity=*/true);
  switch (dtype) {
    case DType::kF16: return f16;
    case DType::kBF16: return bf16;
    case DType::kF32: return f32;
    case DType::kF8E4M3: return e4m3;
    case DType::kF8E5M2: return e5m2;
    default: return f64;
  }
}

double round_to(DType dtype, double value) {
  if (dtype == DType::kF64 || std::isnan(value)) return value;
  if (dtype == DType::kF32) return static_cast<float>(value);
  const FloatFormat& format = float_format(dtype);
  const double magnitude = std::fabs(value);
  if (magnitude >= format.overflow_threshold || (format.saturates && magnitude > format.max_finite)) {
    return std::copysign(format.saturates ? format.max_finite : std::numeric_limits<double>::infinity(), value);
  }
  // Adding and subtracting a power of two leaves the bits that the type has; the addition rounds to nearest even.
  const double quantum = magnitude < format.min_normal
                             ? format.min_subnormal
                             : std::ldexp(1.0, std::ilogb(magnitude) - (format.significand_bits - 1));
  const double shift = quantum * 6755399441055744.0;  // 1.5 * 2^52
  const double rounded = (magnitude + shift) - shift;
  return std::copysign(rounded, value);
}

uint64_t encode_float(DType dtype, double value) {
  if (dtype == DType::kF64)
    return bit_copy<uint64_t>(std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : value);
  if (dtype == DType::kF32) {
    return bit_copy<uint32_t>(std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value));
  }
  const Encoding e = encoding(dtype);
  const uint64_t exponent_ones = (uint64_t{1} << e.exponent_bits) - 1;
  if (std::isnan(value)) {
    const uint64_t fraction = dtype == DType::kF8E4M3 ? 7 : uint64_t{1} << (e.fraction_bits - 1);
    return exponent_ones << e.fraction_bits | fraction;
  }
  const double rounded = round_to(dtype, value);
  const uint64_t sign = std::signbit(rounded) ? uint64_t{1} << (e.exponent_bits + e.fraction_bits) : 0;
  const double magnitude = std::fabs(rounded);
  if (std::isinf(magnitude)) return sign | exponent_ones << e.fraction_bits;
  const FloatFormat& format = float_format(dtype);
  if (magnitude < format.min_normal) return sign | static_cast<uint64_t>(magnitude / format.min_subnormal);
  const int exponent = std::ilogb(magnitude);
  const auto significand = static_cast<uint64_t>(std::ldexp(magnitude, e.fraction_bits - exponent));
  const uint64_t fraction = significand - (uint64_t{1} << e.fraction_bits);
  return sign | static_cast<uint64_t>(exponent + e.bias) << e.fraction_bits | fraction;
}

double decode_float(DType dtype, uint64_t bits) {
  if (dtype == DType::kF64) return bit_copy<double>(bits);
  if (dtype == DType::kF32) return bit_copy<float>(static_cast<uint32_t>(bits));
  const Encoding e = encoding(dtype);
  const uint64_t exponent_ones = (uint64_t{1} << e.exponent_bits) - 1;
  const uint64_t fraction = bits & ((uint64_t{1} << e.fraction_bits) - 1);
  const uint64_t exponent = bits >> e.fraction_bits & exponent_ones;
  const double sign = bits >> (e.exponent_bits + e.fraction_bits) & 1 ? -1.0 : 1.0;
  const FloatFormat& format = float_format(dtype);
  if (exponent == 0) return sign * static_cast<double>(fraction) * format.min_subnormal;
  const bool is_nan =
      dtype == DType::kF8E4M3 ? exponent == exponent_ones && fraction == 7 : exponent == exponent_ones && fraction != 0;
  if (is_nan) return std::numeric_limits<double>::quiet_NaN();
  if (format.has_infinity && exponent == exponent_ones) return sign * std::numeric_limits<double>::infinity();
  const auto significand = static_cast<double>(fraction + (uint64_t{1} << e.fraction_bits));
  return sign * std::ldexp(significand, static_cast<int>(exponent) - e.bias - e.fraction_bits);
}

const double* decode_table(DType dtype) {
  static const auto make = [](DType type) {
    std::vector<double> table(size_t{1} << (8 * dtype_bytes(type)));
    for (size_t code = 0; code < table.size(); ++code) table[code] = decode_float(type, code);
    return table;
  };
  static const std::vector<double> f16 = make(DType::kF16), bf16 = make(DType::kBF16);
  static const std::vector<double> e4m3 = make(DType::kF8E4M3), e5m2 = make(DType::kF8E5M2);
  switch (dtype) {
    case DType::kF16: return f16.data();
    case DType::kBF16: return bf16.data();
    case DType::kF8E4M3: return e4m3.data();
    case DType::kF8E5M2: return e5m2.data();
    default: return nullptr;
  }
}

}  // namespace kaon::compiler
