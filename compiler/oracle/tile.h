// One value of the interpreted program: the lanes that exist, as doubles or integers, and how far each may be off.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "compiler/oracle/soft_float.h"
#include "runtime/base/dtype.h"

namespace kaon::compiler {

/// A bound of an element about which nothing is known: undefined, or on either side of an overflow or a branch.
constexpr double kUnknown = std::numeric_limits<double>::infinity();

/// Row-major array of the lanes that exist. Floats are in `floats`, at the value that exact arithmetic gives; integers
/// and bools (0 or 1) in `ints`. The device's element d satisfies |d - element| <= bounds[i]; while `exact`, bounds are
/// not kept and are 0. An infinite or NaN element has bound 0 (the device has the same) or kUnknown. A bool with a
/// bound above 0 may be either. Arrays only grow, so that running a program again allocates nothing.
struct Tile {
  DType dtype = DType::kF32;
  std::vector<int64_t> sizes;
  size_t count = 1;
  bool exact = true;
  std::vector<double> floats;
  std::vector<int64_t> ints;
  std::vector<double> bounds;

  bool is_float() const { return dtype_is_float(dtype); }
  double bound(size_t i) const { return exact ? 0 : bounds[i]; }

  /// Makes room for elements of `new_sizes`; their values are unspecified. `exact` becomes `is_exact`.
  void shape(DType new_dtype, const std::vector<int64_t>& new_sizes, bool is_exact) {
    dtype = new_dtype;
    if (&sizes != &new_sizes) sizes = new_sizes;
    count = 1;
    for (int64_t size : sizes) count *= static_cast<size_t>(size);
    exact = is_exact;
    if (is_float() && floats.size() < count) floats.resize(count);
    if (!is_float() && ints.size() < count) ints.resize(count);
    if (!exact) need_bounds();
  }
  void need_bounds() {
    if (bounds.size() < count) bounds.resize(count);
  }
  /// Sets `exact` if every bound turned out to be 0.
  void settle() {
    if (exact) return;
    for (size_t i = 0; i < count; ++i) {
      if (bounds[i] != 0) return;
    }
    exact = true;
  }
};

/// Reads bounds of a tile without asking each time whether it has any.
class Bounds {
 public:
  explicit Bounds(const Tile& tile) : data_(tile.exact ? &kZero : tile.bounds.data()), step_(tile.exact ? 0 : 1) {}
  double operator[](size_t i) const { return data_[i * step_]; }

 private:
  static constexpr double kZero = 0;
  const double* data_;
  size_t step_;
};

/// `value` reduced to the integer type, as two's complement arithmetic wraps.
inline int64_t wrap_int(DType dtype, int64_t value) {
  switch (dtype) {
    case DType::kI8: return static_cast<int8_t>(value);
    case DType::kU8: return static_cast<uint8_t>(value);
    case DType::kI16: return static_cast<int16_t>(value);
    case DType::kI32: return static_cast<int32_t>(value);
    case DType::kU32: return static_cast<uint32_t>(value);
    case DType::kBool: return value != 0;
    default: return value;
  }
}

}  // namespace kaon::compiler
