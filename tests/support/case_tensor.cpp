// Lays tensors out and finds their elements.
#include "tests/support/case_tensor.h"

#include <algorithm>
#include <cstring>

namespace kaon::compiler {
namespace {

constexpr int64_t kAlignment = 256;
constexpr int64_t kZone = 256;  // bytes before and after the elements; a multiple of the alignment

}  // namespace

AlignedBytes::AlignedBytes(size_t size, uint8_t value) : size_(size) {
  const size_t rounded = (size + kAlignment - 1) / kAlignment * kAlignment;
  data_.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded)));
  std::memset(data_.get(), value, rounded);
}

AlignedBytes::AlignedBytes(const AlignedBytes& other) : AlignedBytes(other.size_, 0) {
  std::memcpy(data_.get(), other.data_.get(), size_);
}

CaseTensor::CaseTensor(DType dtype, std::vector<int64_t> sizes, const TensorLayout& layout, uint8_t poison)
    : dtype_(dtype), sizes_(std::move(sizes)), strides_(sizes_.size(), 1) {
  int64_t pitch = layout.inner_stride, lowest = 0, highest = 0;
  for (size_t i = sizes_.size(); i-- > 0;) {
    const int axis = static_cast<int>(i);
    const bool is_repeated = axis == layout.broadcast_axis;
    strides_[i] = is_repeated ? 0 : axis == layout.negative_axis ? -pitch : pitch;
    const int64_t reach = std::max<int64_t>(sizes_[i] - 1, 0) * strides_[i];
    (reach < 0 ? lowest : highest) += reach;
    if (!is_repeated) pitch *= std::max<int64_t>(sizes_[i], 1);
    if (i + 1 == sizes_.size() && i > 0) pitch += layout.padding * layout.inner_stride;
  }
  const int64_t element = dtype_bytes(dtype);
  origin_ = kZone + (layout.misalignment - lowest) * element;
  bytes_ = AlignedBytes(static_cast<size_t>(origin_ + (highest + 1) * element + kZone), poison);
}

HostTensor CaseTensor::view() const { return {dtype_, bytes_.data() + origin_, sizes_, strides_}; }

int64_t CaseTensor::count() const {
  int64_t count = 1;
  for (int64_t size : sizes_) count *= size;
  return count;
}

std::string CaseTensor::index_text(int64_t wanted) const {
  std::vector<int64_t> at(sizes_.size(), 0);
  int64_t row_major = 0, found = -1;
  each([&](int64_t offset) {
    if (offset == wanted && found < 0) found = row_major;
    ++row_major;
  });
  if (found < 0) return "outside";
  for (size_t i = sizes_.size(); i-- > 0; found /= sizes_[i]) at[i] = found % sizes_[i];
  std::string text;
  for (int64_t index : at) text += (text.empty() ? "" : ", ") + std::to_string(index);
  return "[" + text + "]";
}

void CaseTensor::zero_elements() {
  each([&](int64_t offset) { std::memset(element(offset), 0, static_cast<size_t>(dtype_bytes(dtype_))); });
}

}  // namespace kaon::compiler
