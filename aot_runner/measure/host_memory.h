// Host memory for a tensor of which perhaps only a few parts are looked at.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/status.h"

namespace kaon::runner {

/// Zeroed address space; a page takes memory only once it is written.
class SparseMemory {
 public:
  static Result<SparseMemory> reserve(int64_t bytes);
  SparseMemory(SparseMemory&& other) noexcept;
  SparseMemory& operator=(SparseMemory&& other) noexcept;
  ~SparseMemory();
  uint8_t* data() const { return data_; }

 private:
  SparseMemory(uint8_t* data, int64_t bytes) : data_(data), bytes_(bytes) {}
  uint8_t* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace kaon::runner
