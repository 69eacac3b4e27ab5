// Strides of tensors without gaps.
#pragma once

#include <cstdint>

namespace kaon {

/// The stride, in elements, of an axis in front of one with this stride and extent. The greatest number where the product
/// is beyond it, as in shapes that no tensor has or whose other axes are empty.
inline int64_t outer_stride(int64_t stride, int64_t extent) {
  int64_t product = 0;
  return __builtin_mul_overflow(stride, extent > 1 ? extent : 1, &product) ? INT64_MAX : product;
}

}  // namespace kaon
