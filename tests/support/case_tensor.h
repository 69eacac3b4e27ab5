// A tensor in memory as awkward as a caller may make it: any strides and alignment, between red zones.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "compiler/oracle/oracle.h"

namespace kaon::compiler {

/// How far a tensor is from a dense, aligned one.
struct TensorLayout {
  int64_t misalignment = 0;  // elements between a 256-byte boundary and the first
  int64_t padding = 0;       // elements between rows
  int64_t inner_stride = 1;
  int negative_axis = -1;   // runs backwards
  int broadcast_axis = -1;  // has stride 0
};

/// Bytes that start at a 256-byte boundary, as device memory does.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  AlignedBytes(size_t size, uint8_t value);
  AlignedBytes(const AlignedBytes& other);
  AlignedBytes(AlignedBytes&&) = default;
  AlignedBytes& operator=(AlignedBytes&&) = default;
  uint8_t* data() const { return data_.get(); }
  size_t size() const { return size_; }

 private:
  struct Free {
    void operator()(uint8_t* data) const { std::free(data); }
  };
  std::unique_ptr<uint8_t[], Free> data_;
  size_t size_ = 0;
};

class CaseTensor {
 public:
  /// Every byte is `poison`.
  CaseTensor(DType dtype, std::vector<int64_t> sizes, const TensorLayout& layout, uint8_t poison);

  const AlignedBytes& bytes() const { return bytes_; }
  /// Byte of `bytes()` where the element of index 0 on every axis starts.
  int64_t origin() const { return origin_; }
  HostTensor view() const;
  int64_t count() const;

  /// Visits the offset in elements, from the element of index 0, of each element in row-major order.
  template <typename Visit>
  void each(Visit&& visit) const {
    std::vector<int64_t> at(sizes_.size(), 0);
    if (count() == 0) return;
    for (;;) {
      int64_t offset = 0;
      for (size_t i = 0; i < at.size(); ++i) offset += at[i] * strides_[i];
      visit(offset);
      size_t i = at.size();
      while (i > 0 && ++at[i - 1] == sizes_[i - 1]) at[--i] = 0;
      if (i == 0) return;
    }
  }
  uint8_t* element(int64_t offset) const { return bytes_.data() + origin_ + offset * dtype_bytes(dtype_); }
  /// Index of the element at `offset`, as "[3, 17]".
  std::string index_text(int64_t offset) const;
  void zero_elements();

 private:
  DType dtype_;
  std::vector<int64_t> sizes_, strides_;
  AlignedBytes bytes_;
  int64_t origin_ = 0;
};

}  // namespace kaon::compiler
