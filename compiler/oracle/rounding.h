// What rounding an operation's result to its declared type adds to its error bound, and what overflow does.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// The rounding of one float type, prepared for inner loops.
class Rounding {
 public:
  explicit Rounding(DType dtype) {
    const FloatFormat& format = float_format(dtype);
    // The oracle's own arithmetic is double: for f64 it errs as much as the device, for the rest a hair.
    unit_ = dtype == DType::kF64 ? 2 * format.unit_roundoff : format.unit_roundoff * (1 + 0x1p-20);
    half_subnormal_ = format.min_subnormal * (dtype == DType::kF64 ? 1 : 0.5);
    overflow_threshold_ = dtype == DType::kF64 ? format.max_finite : format.overflow_threshold;
    min_normal_ = format.min_normal;
    max_finite_ = format.max_finite;
    saturates_ = format.saturates;
    extra_bits_ = dtype == DType::kF64 ? ~uint64_t{0} >> 1 : (uint64_t{1} << (53 - format.significand_bits)) - 1;
  }

  double unit() const { return unit_; }
  double max_finite() const { return max_finite_; }
  double min_normal() const { return min_normal_; }
  double half_subnormal() const { return half_subnormal_; }

  /// An operation gave *value; `propagated` bounds how far the device's unrounded result is from it. Returns the bound
  /// of the rounded result, and makes *value infinite where it must overflow.
  double finish(double* value, double propagated) const {
    const double magnitude = std::fabs(*value);
    if (!(magnitude + propagated < overflow_threshold_)) return finish_special(value, propagated);
    if (propagated == 0 && is_representable(*value, magnitude)) return 0;
    return propagated + unit_ * (magnitude + propagated) + half_subnormal_;
  }

 private:
  /// Representable results of exact operands are rounded by nobody. Subnormals are not worth telling apart.
  bool is_representable(double value, double magnitude) const {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    return (bits & extra_bits_) == 0 && (magnitude >= min_normal_ || magnitude == 0);
  }

  double finish_special(double* value, double propagated) const {
    if (!(propagated < kUnknown)) return kUnknown;
    if (std::isnan(*value) || std::isinf(*value)) return 0;
    const double magnitude = std::fabs(*value);
    // f64: a finite sum of the oracle's may have been rounded down to the largest number, as the device's may.
    if (saturates_ || magnitude <= max_finite_ || magnitude - propagated < overflow_threshold_) return kUnknown;
    *value = std::copysign(HUGE_VAL, *value);
    return 0;
  }

  double unit_ = 0, half_subnormal_ = 0, overflow_threshold_ = 0, min_normal_ = 0, max_finite_ = 0;
  bool saturates_ = false;
  uint64_t extra_bits_ = 0;
};

}  // namespace kaon::compiler
