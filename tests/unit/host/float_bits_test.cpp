// The 16-bit conversions against a reference that searches for the nearest value in double precision.
#include "runtime/host/float_bits.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace kaon::host {
namespace {

/// Value of `bits` in a format of `exponent_bits`; infinity's pattern gives the value that the next exponent would
/// have.
double decode(uint16_t bits, int exponent_bits) {
  const int significand_bits = 15 - exponent_bits;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const int exponent = (bits & 0x7fff) >> significand_bits;
  const int significand = bits & ((1 << significand_bits) - 1);
  const double magnitude = exponent == 0
                               ? std::ldexp(significand, 1 - bias - significand_bits)
                               : std::ldexp((1 << significand_bits) + significand, exponent - bias - significand_bits);
  return bits & 0x8000 ? -magnitude : magnitude;
}

/// Nearest even by bisection over the patterns, which are ordered like their magnitudes.
uint16_t nearest(float value, int exponent_bits) {
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << (15 - exponent_bits));
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const double magnitude = std::fabs(static_cast<double>(value));
  uint16_t low = 0, high = infinity;
  if (magnitude >= decode(infinity, exponent_bits)) return sign | infinity;
  while (high - low > 1) {
    const uint16_t middle = static_cast<uint16_t>((low + high) / 2);
    (decode(middle, exponent_bits) <= magnitude ? low : high) = middle;
  }
  const double below = magnitude - decode(low, exponent_bits), above = decode(high, exponent_bits) - magnitude;
  const bool up = above < below || (above == below && (low & 1));
  return static_cast<uint16_t>(sign | (up ? high : low));
}

TEST(FloatBits, EveryF16SurvivesTheWayToF32AndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float value = f16_to_f32(static_cast<uint16_t>(bits));
    const bool is_nan = (bits & 0x7fff) > 0x7c00;
    ASSERT_EQ(std::isnan(value), is_nan) << bits;
    if (is_nan) {
      ASSERT_EQ(f32_to_f16(value), bits | 0x200) << "NaN stays a NaN, quiet";
      continue;
    }
    if ((bits & 0x7fff) == 0x7c00) {
      ASSERT_TRUE(std::isinf(value));
    } else {
      ASSERT_EQ(static_cast<double>(value), decode(static_cast<uint16_t>(bits), 5)) << bits;
    }
    ASSERT_EQ(f32_to_f16(value), bits);
  }
}

TEST(FloatBits, EveryBf16SurvivesTheWayToF32AndBack) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const bool is_nan = (bits & 0x7fff) > 0x7f80;
    ASSERT_EQ(f32_to_bf16(bf16_to_f32(static_cast<uint16_t>(bits))), is_nan ? bits | 0x40 : bits);
  }
}

/// Every value between two neighbours behaves like one of these five.
template <typename Check>
void around_every_step(int exponent_bits, const Check& check) {
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << (15 - exponent_bits));
  for (uint16_t bits = 0; bits < infinity; ++bits) {
    const double here = decode(bits, exponent_bits), next = decode(static_cast<uint16_t>(bits + 1), exponent_bits);
    const float half = static_cast<float>((here + next) / 2);
    for (const float value :
         {static_cast<float>(here), half, std::nextafterf(half, 0.0f), std::nextafterf(half, INFINITY)}) {
      check(value);
      check(-value);
    }
  }
}

TEST(FloatBits, F32ToF16RoundsToNearestEvenAroundEveryStep) {
  around_every_step(5, [](float value) { ASSERT_EQ(f32_to_f16(value), nearest(value, 5)) << value; });
}

TEST(FloatBits, F32ToBf16RoundsToNearestEvenAroundEveryStep) {
  around_every_step(8, [](float value) { ASSERT_EQ(f32_to_bf16(value), nearest(value, 8)) << value; });
}

TEST(FloatBits, F32ToF16MatchesOnAStrideOverAllFloats) {
  for (uint64_t bits = 0; bits < 0x7f800000u; bits += 4093) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    ASSERT_EQ(f32_to_f16(value), nearest(value, 5)) << value;
  }
}

TEST(FloatBits, ExtremesGoWhereTheyShould) {
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(-std::numeric_limits<float>::infinity()), 0xfc00);
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0);
  EXPECT_EQ(f32_to_f16(std::nextafterf(0x1p-25f, 1.0f)), 1);
  EXPECT_EQ(f32_to_bf16(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_EQ(f32_to_bf16(-0.0f), 0x8000);
}

}  // namespace
}  // namespace kaon::host
