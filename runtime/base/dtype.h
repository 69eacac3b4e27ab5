// The element types of tensors and tiles, one row each in dtype.inc.
#pragma once

#include <cstdint>
#include <string_view>

namespace kaon {

enum class DType : uint8_t {
#define KAON_DTYPE(enumerator, name, bytes, is_float, is_signed, digits, dlpack) enumerator,
#include "runtime/base/dtype.inc"
#undef KAON_DTYPE
};

namespace detail {
struct DTypeRow {
  const char* name;
  uint8_t bytes;
  bool is_float;
  bool is_signed;
  uint8_t significand_bits;
  uint8_t dlpack_code;
};
constexpr DTypeRow kDTypeRows[] = {
#define KAON_DTYPE(enumerator, name, bytes, is_float, is_signed, digits, dlpack) \
  {name, bytes, is_float != 0, is_signed != 0, digits, dlpack},
#include "runtime/base/dtype.inc"
#undef KAON_DTYPE
};
}  // namespace detail

constexpr int kNumDTypes = static_cast<int>(sizeof(detail::kDTypeRows) / sizeof(detail::kDTypeRows[0]));

constexpr const detail::DTypeRow& dtype_row(DType t) { return detail::kDTypeRows[static_cast<int>(t)]; }
/// Name as written in .tile files and reports: "f16".
constexpr const char* dtype_name(DType t) { return dtype_row(t).name; }
constexpr int dtype_bytes(DType t) { return dtype_row(t).bytes; }
constexpr bool dtype_is_float(DType t) { return dtype_row(t).is_float; }
constexpr bool dtype_is_signed(DType t) { return dtype_row(t).is_signed; }
constexpr bool dtype_is_int(DType t) { return !dtype_row(t).is_float && t != DType::kBool; }

/// False when no dtype has that name.
constexpr bool parse_dtype(std::string_view name, DType* out) {
  for (int i = 0; i < kNumDTypes; ++i) {
    if (name == detail::kDTypeRows[i].name) {
      *out = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

}  // namespace kaon
