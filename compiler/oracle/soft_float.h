// f16, bf16, f8 and f32 as bits: exact decoding to double and round-to-nearest-even encoding from it, on any CPU.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"

namespace kaon::compiler {

/// What rounding to a float type needs to know, all as doubles.
struct FloatFormat {
  int significand_bits = 53;  // with the hidden one
  double unit_roundoff = 0;   // half an ulp, relative: 2^-significand_bits
  double max_finite = 0;
  double overflow_threshold = 0;  // smallest magnitude that rounds beyond max_finite
  double min_normal = 0;
  double min_subnormal = 0;
  bool has_infinity = true;  // f8e4m3 has none
  bool saturates = false;    // f8: conversions clamp to max_finite, as the GPU's only f8 conversions do
};

/// Float dtypes only.
const FloatFormat& float_format(DType dtype);

/// `value` rounded to the type, to nearest, ties to even: what a correctly rounded conversion from double gives.
double round_to(DType dtype, double value);

/// Bits of the type for a value, which is rounded first; NaN becomes the quiet NaN of the type with the sign dropped.
uint64_t encode_float(DType dtype, double value);
double decode_float(DType dtype, uint64_t bits);
/// What decode_float() gives for each code of a float type of 8 or 16 bits; null for wider types.
const double* decode_table(DType dtype);

}  // namespace kaon::compiler
