// Conversions between f32 and the 16-bit float types, as the table of a host kernel offers them.
#pragma once

#include <cstdint>

namespace kaon::host {

/// Round to nearest, ties to even; overflow gives infinity; NaN stays a quiet NaN of the same sign.
uint16_t f32_to_f16(float value);
/// Exact.
float f16_to_f32(uint16_t bits);
/// Round to nearest, ties to even; NaN stays a quiet NaN of the same sign.
uint16_t f32_to_bf16(float value);
/// Exact.
float bf16_to_f32(uint16_t bits);

}  // namespace kaon::host
