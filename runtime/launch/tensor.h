// The arguments of a call: views of tensors that the caller owns, and scalars.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <type_traits>

#include "runtime/base/dtype.h"
#include "runtime/base/signature.h"
#include "runtime/base/status.h"
#include "runtime/base/strides.h"
#include "runtime/launch/tensor_abi.h"

namespace kaon {

enum class DeviceKind : uint8_t { kCpu, kCuda };

struct Device {
  DeviceKind kind = DeviceKind::kCuda;
  int ordinal = 0;

  static constexpr Device cpu() { return {DeviceKind::kCpu, 0}; }
  static constexpr Device cuda(int ordinal) { return {DeviceKind::kCuda, ordinal}; }
  /// "cpu", "cuda:1".
  std::string to_string() const;
  friend bool operator==(const Device& a, const Device& b) { return a.kind == b.kind && a.ordinal == b.ordinal; }
  friend bool operator!=(const Device& a, const Device& b) { return !(a == b); }
};

/// A strided view: element (i, j, ..) lies at data + (i * strides[0] + j * strides[1] + ..) elements. Owns nothing.
/// `data` may be null when an extent is 0. Strides may be zero or negative for inputs.
struct TensorView {
  void* data = nullptr;
  DType dtype = DType::kF32;
  uint8_t rank = 0;
  Device device;
  int64_t sizes[kMaxRank] = {};
  int64_t strides[kMaxRank] = {};  // in elements

  /// Row-major without gaps. More than kMaxRank sizes give a view of rank kMaxRank + 1, which every call refuses.
  static TensorView contiguous(const void* data, DType dtype, std::initializer_list<int64_t> sizes,
                               Device device = Device::cuda(0)) {
    TensorView view;
    view.data = const_cast<void*>(data);
    view.dtype = dtype;
    view.device = device;
    for (int64_t size : sizes) {
      if (view.rank < kMaxRank) view.sizes[view.rank] = size;
      if (view.rank <= kMaxRank) ++view.rank;
    }
    view.set_contiguous_strides();
    return view;
  }

  /// kInvalidArgument for what Kaon has no name for: a rank above 6, several lanes, an unknown type or device.
  static Status from_abi(const kaon_tensor& tensor, TensorView* view);

  void set_contiguous_strides() {
    int64_t stride = 1;
    for (int axis = (rank < kMaxRank ? rank : kMaxRank) - 1; axis >= 0; --axis) {
      strides[axis] = stride;
      stride = outer_stride(stride, sizes[axis]);
    }
  }
};

/// A scalar argument; converted to the declared type of its parameter by the call.
struct ScalarValue {
  enum Kind : uint8_t { kInt, kFloat };
  Kind kind = kInt;
  int64_t i = 0;
  double f = 0;

  ScalarValue() = default;
  template <typename T, typename = std::enable_if_t<std::is_arithmetic<T>::value>>
  ScalarValue(T value) : kind(std::is_integral<T>::value ? kInt : kFloat) {
    if (kind == kInt) {
      i = static_cast<int64_t>(value);
    } else {
      f = static_cast<double>(value);
    }
  }
};

/// The 64 bits that a slot holds for `value` declared as `dtype`: integers sign-extended, floats as the bit pattern of
/// their type, rounded to nearest even. False when an integer does not fit, or a fraction is given for an integer.
bool scalar_bits(const ScalarValue& value, DType dtype, int64_t* bits);

}  // namespace kaon
