// How each dtype's bits are read.
#include "aot_runner/measure/element.h"

#include <cmath>
#include <limits>

#include "runtime/host/float_bits.h"

namespace kaon::runner {

namespace {

/// Four exponent bits, bias 7, no infinity; only all ones is NaN.
double f8e4m3_value(uint8_t bits) {
  const int exponent = bits >> 3 & 15, significand = bits & 7;
  if (exponent == 15 && significand == 7) return std::numeric_limits<double>::quiet_NaN();
  const double magnitude = exponent == 0 ? std::ldexp(significand, -9) : std::ldexp(8 + significand, exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

template <typename T>
T at(const void* data, int64_t index) {
  return static_cast<const T*>(data)[index];
}

}  // namespace

double load_element(const void* data, int64_t index, DType dtype) {
  switch (dtype) {
    case DType::kBool:
    case DType::kU8: return at<uint8_t>(data, index);
    case DType::kI8: return at<int8_t>(data, index);
    case DType::kI16: return at<int16_t>(data, index);
    case DType::kI32: return at<int32_t>(data, index);
    case DType::kU32: return at<uint32_t>(data, index);
    case DType::kI64: return static_cast<double>(at<int64_t>(data, index));
    case DType::kF16: return host::f16_to_f32(at<uint16_t>(data, index));
    case DType::kBF16: return host::bf16_to_f32(at<uint16_t>(data, index));
    case DType::kF32: return at<float>(data, index);
    case DType::kF64: return at<double>(data, index);
    case DType::kF8E4M3: return f8e4m3_value(at<uint8_t>(data, index));
    case DType::kF8E5M2: return host::f16_to_f32(static_cast<uint16_t>(at<uint8_t>(data, index) << 8));
  }
  return 0;
}

}  // namespace kaon::runner
