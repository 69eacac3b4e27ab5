// Tensors of the typed functions' tests: small, on the CPU, of numbers that repeat nowhere near.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <vector>

#include "runtime/host/backend.h"
#include "runtime/launch/tensor.h"

namespace kaon::testing_pretuned {

inline std::vector<float> some_numbers(int64_t count, double phase) {
  std::vector<float> values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(2 * std::sin(phase + 0.7 * static_cast<double>(i)));
  return values;
}

inline std::vector<float> unwritten(int64_t count) { return std::vector<float>(static_cast<size_t>(count), NAN); }

inline TensorView view(const std::vector<float>& data, std::initializer_list<int64_t> sizes) {
  return TensorView::contiguous(data.data(), DType::kF32, sizes, Device::cpu());
}
inline TensorView view(const std::vector<int64_t>& data, std::initializer_list<int64_t> sizes) {
  return TensorView::contiguous(data.data(), DType::kI64, sizes, Device::cpu());
}
inline TensorView view(const std::vector<int32_t>& data, std::initializer_list<int64_t> sizes) {
  return TensorView::contiguous(data.data(), DType::kI32, sizes, Device::cpu());
}
/// Bytes that hold f8e4m3.
inline TensorView view(const std::vector<uint8_t>& data, std::initializer_list<int64_t> sizes) {
  return TensorView::contiguous(data.data(), DType::kF8E4M3, sizes, Device::cpu());
}

/// The value of an f8e4m3 that is no NaN.
inline double decode_f8(uint8_t bits) {
  const int exponent = bits >> 3 & 15, fraction = bits & 7;
  const double magnitude = exponent == 0 ? std::ldexp(fraction, -9) : std::ldexp(8 + fraction, exponent - 10);
  return bits & 0x80 ? -magnitude : magnitude;
}

/// Within a few roundings of f32; both NaN, or the same infinity, is equal as well.
inline void expect_near(const std::vector<float>& got, const std::vector<double>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::isnan(want[i]))
      EXPECT_TRUE(std::isnan(got[i])) << i << ": " << got[i];
    else if (std::isinf(want[i]))
      EXPECT_EQ(got[i], want[i]) << i;
    else
      EXPECT_NEAR(got[i], want[i], 2e-5 * (1 + std::fabs(want[i]))) << i;
  }
}

class TypedFunctions : public ::testing::Test {
 protected:
  static void SetUpTestSuite() { host::install(); }
};

#define EXPECT_SERVED(call)                            \
  do {                                                 \
    const Status status = (call);                      \
    ASSERT_TRUE(status.is_ok()) << status.to_string(); \
  } while (false)

}  // namespace kaon::testing_pretuned
