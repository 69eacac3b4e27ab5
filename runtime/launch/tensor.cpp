// How tensors and scalars come from their binary forms.
#include "runtime/launch/tensor.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/base/text.h"

namespace kaon {
namespace {

Status invalid(const std::string& what) { return {Code::kInvalidArgument, what}; }

bool find_dtype(const kaon_dtype& abi, DType* out) {
  for (int i = 0; i < kNumDTypes; ++i) {
    const auto& row = detail::kDTypeRows[i];
    if (row.dlpack_code == abi.code && row.bytes * 8 == abi.bits) {
      *out = static_cast<DType>(i);
      return true;
    }
  }
  return false;
}

// Rounds a double to a binary float with `digits` significand bits and `exponent_bits`, ties to even, and packs it.
// For f8e4m3, which has no infinities, overflow gives NaN, as conversions on the GPU without saturation do.
uint64_t pack_float(double value, int digits, int exponent_bits, bool has_infinity) {
  uint64_t sign = std::signbit(value) ? 1 : 0;
  int mantissa_bits = digits - 1;
  uint64_t all_ones = (uint64_t{1} << exponent_bits) - 1;
  int bias = static_cast<int>(all_ones >> 1);
  uint64_t top = sign << (exponent_bits + mantissa_bits);
  uint64_t infinity = all_ones << mantissa_bits;
  uint64_t quiet = has_infinity ? uint64_t{1} << (mantissa_bits - 1) : (uint64_t{1} << mantissa_bits) - 1;
  uint64_t nan = infinity | quiet;
  if (std::isnan(value)) return nan;
  double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return top | (has_infinity ? infinity : nan);
  if (magnitude == 0) return top;
  int exponent = 0;
  std::frexp(magnitude, &exponent);  // magnitude = m * 2^exponent, m in [0.5, 1)
  int lowest = 1 - bias;             // exponent of the smallest normal
  int scale = std::max(exponent - 1, lowest) - mantissa_bits;
  double units = std::nearbyint(std::ldexp(magnitude, -scale));
  // A carry out of the significand moves into the exponent field by itself.
  uint64_t field = static_cast<uint64_t>(std::max(exponent - 1, lowest) - lowest);
  uint64_t packed = (field << mantissa_bits) + static_cast<uint64_t>(units);
  uint64_t largest = has_infinity ? infinity - 1 : nan - 1;
  if (packed > largest) packed = has_infinity ? infinity : nan;
  return top | packed;
}

bool float_bits(double value, DType dtype, int64_t* bits) {
  switch (dtype) {
    case DType::kF64: memcpy(bits, &value, sizeof value); return true;
    case DType::kF32: *bits = static_cast<int64_t>(pack_float(value, 24, 8, true)); return true;
    case DType::kF16: *bits = static_cast<int64_t>(pack_float(value, 11, 5, true)); return true;
    case DType::kBF16: *bits = static_cast<int64_t>(pack_float(value, 8, 8, true)); return true;
    case DType::kF8E4M3: *bits = static_cast<int64_t>(pack_float(value, 4, 4, false)); return true;
    case DType::kF8E5M2: *bits = static_cast<int64_t>(pack_float(value, 3, 5, true)); return true;
    default: return false;
  }
}

bool int_fits(int64_t value, DType dtype) {
  if (dtype == DType::kBool) return value == 0 || value == 1;
  int width = dtype_bytes(dtype) * 8;
  if (width == 64) return true;
  if (!dtype_is_signed(dtype)) return value >= 0 && value < (int64_t{1} << width);
  int64_t limit = int64_t{1} << (width - 1);
  return value >= -limit && value < limit;
}

}  // namespace

std::string Device::to_string() const { return kind == DeviceKind::kCpu ? "cpu" : cat("cuda:", ordinal); }

Status TensorView::from_abi(const kaon_tensor& tensor, TensorView* view) {
  if (tensor.ndim < 0 || tensor.ndim > kMaxRank) {
    return invalid(cat("tensor has rank ", tensor.ndim, ", at most ", kMaxRank));
  }
  if (tensor.ndim > 0 && tensor.shape == nullptr) return invalid("tensor has no shape");
  if (tensor.dtype.lanes != 1 || !find_dtype(tensor.dtype, &view->dtype)) {
    return invalid(cat("tensor has an unknown dtype: code ", tensor.dtype.code, ", ", tensor.dtype.bits, " bits, ",
                       tensor.dtype.lanes, " lanes"));
  }
  if (tensor.device.type == KAON_CPU || tensor.device.type == KAON_CUDA_HOST) {
    view->device = Device::cpu();
  } else if (tensor.device.type == KAON_CUDA || tensor.device.type == KAON_CUDA_MANAGED) {
    view->device = Device::cuda(tensor.device.id);
  } else {
    return invalid(cat("tensor lies on device type ", tensor.device.type, ", expected CPU or CUDA"));
  }
  view->data = tensor.data == nullptr ? nullptr : static_cast<char*>(tensor.data) + tensor.byte_offset;
  view->rank = static_cast<uint8_t>(tensor.ndim);
  for (int axis = 0; axis < tensor.ndim; ++axis) view->sizes[axis] = tensor.shape[axis];
  if (tensor.strides == nullptr) {
    view->set_contiguous_strides();
  } else {
    for (int axis = 0; axis < tensor.ndim; ++axis) view->strides[axis] = tensor.strides[axis];
  }
  return Status::ok();
}

bool scalar_bits(const ScalarValue& value, DType dtype, int64_t* bits) {
  if (dtype_is_float(dtype)) {
    return float_bits(value.kind == ScalarValue::kFloat ? value.f : static_cast<double>(value.i), dtype, bits);
  }
  if (value.kind != ScalarValue::kInt || !int_fits(value.i, dtype)) return false;
  *bits = value.i;
  return true;
}

}  // namespace kaon
