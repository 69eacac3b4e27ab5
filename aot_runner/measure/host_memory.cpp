// Sparse memory is an anonymous mapping without reservation.
#include "aot_runner/measure/host_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

namespace kaon::runner {

Result<SparseMemory> SparseMemory::reserve(int64_t bytes) {
  bytes = std::max<int64_t>(bytes, 1);
  void* data = mmap(nullptr, static_cast<size_t>(bytes), PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (data == MAP_FAILED) {
    return Status(Code::kOutOfMemory, "no address space for " + std::to_string(bytes) + " bytes of a tensor");
  }
  return SparseMemory(static_cast<uint8_t*>(data), bytes);
}

SparseMemory::SparseMemory(SparseMemory&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}

SparseMemory& SparseMemory::operator=(SparseMemory&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

SparseMemory::~SparseMemory() {
  if (data_ != nullptr) munmap(data_, static_cast<size_t>(bytes_));
}

}  // namespace kaon::runner
