// Small floats: every code of each type, and rounding against the definition of nearest-even.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "compiler/oracle/soft_float.h"

namespace kaon::compiler {
namespace {

constexpr DType kSmall[] = {DType::kF16, DType::kBF16, DType::kF8E4M3, DType::kF8E5M2};

uint64_t num_codes(DType dtype) { return uint64_t{1} << (8 * dtype_bytes(dtype)); }

TEST(SoftFloat, every_code_survives_decoding_and_encoding) {
  for (DType dtype : kSmall) {
    for (uint64_t code = 0; code < num_codes(dtype); ++code) {
      const double value = decode_float(dtype, code);
      if (std::isnan(value)) {
        EXPECT_TRUE(std::isnan(decode_float(dtype, encode_float(dtype, value))));
      } else if (std::isinf(value) && float_format(dtype).saturates) {
        EXPECT_EQ(decode_float(dtype, encode_float(dtype, value)),
                  std::copysign(float_format(dtype).max_finite, value));
      } else {
        ASSERT_EQ(encode_float(dtype, value), code) << dtype_name(dtype) << " code " << code;
        ASSERT_EQ(round_to(dtype, value), value);
      }
    }
  }
}

TEST(SoftFloat, midpoints_and_their_neighbours_round_to_nearest_even) {
  for (DType dtype : kSmall) {
    const uint64_t sign = num_codes(dtype) / 2;
    for (uint64_t code = 0; code + 1 < sign; ++code) {
      const double low = decode_float(dtype, code), high = decode_float(dtype, code + 1);
      if (!std::isfinite(low) || !std::isfinite(high)) break;
      const double middle = (low + high) / 2;
      const uint64_t even = code % 2 == 0 ? code : code + 1;
      ASSERT_EQ(encode_float(dtype, middle), even) << dtype_name(dtype) << " above code " << code;
      ASSERT_EQ(encode_float(dtype, std::nextafter(middle, 0.0)), code);
      ASSERT_EQ(encode_float(dtype, std::nextafter(middle, 1e300)), code + 1);
      ASSERT_EQ(encode_float(dtype, -middle), even | sign);
    }
  }
}

TEST(SoftFloat, f16_agrees_with_the_compiler_on_a_million_doubles) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 1000000; ++i) {
    const double value =
        std::ldexp(static_cast<double>(static_cast<int64_t>(random())), -78 + static_cast<int>(random() % 34));
    const _Float16 expected = static_cast<_Float16>(value);
    ASSERT_EQ(round_to(DType::kF16, value), static_cast<double>(expected)) << value;
  }
}

TEST(SoftFloat, bf16_is_f32_with_sixteen_bits_less) {
  for (uint64_t code = 0; code < 0x10000; ++code) {
    const double value = decode_float(DType::kBF16, code);
    if (std::isnan(value)) continue;
    ASSERT_EQ(value, decode_float(DType::kF32, code << 16));
  }
}

TEST(SoftFloat, overflow_gives_infinity_or_saturates) {
  EXPECT_EQ(round_to(DType::kF16, 65519.9), 65504.0);
  EXPECT_TRUE(std::isinf(round_to(DType::kF16, 65520.0)));
  EXPECT_TRUE(std::isinf(round_to(DType::kBF16, 3.4e38)));
  EXPECT_EQ(round_to(DType::kF8E4M3, 1e9), 448.0);
  EXPECT_EQ(round_to(DType::kF8E4M3, -HUGE_VAL), -448.0);
  EXPECT_EQ(round_to(DType::kF8E5M2, 60000.0), 57344.0);
  EXPECT_TRUE(std::isinf(round_to(DType::kF32, 1e39)));
  EXPECT_EQ(round_to(DType::kF64, 1e300), 1e300);
}

}  // namespace
}  // namespace kaon::compiler
