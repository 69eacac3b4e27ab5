// A device's tensor as the oracle sees it: copied to the host page by page, as the interpreter asks for its elements.
//
// A few programs of a large call are interpreted, which read a few rows of tensors of hundreds of megabytes.
#pragma once

#include <cstdint>
#include <vector>

#include "aot_runner/measure/device.h"
#include "aot_runner/measure/host_memory.h"
#include "compiler/oracle/oracle.h"
#include "runtime/base/status.h"

namespace kaon::runner {

class DevicePages final : public compiler::TensorSource {
 public:
  static constexpr int64_t kPageBytes = 64 * 1024;

  /// Of `span` on `device`, which must outlive it. kOutOfMemory.
  static Result<DevicePages> open(Device& device, const Span& span);

  /// Where the elements will be.
  uint8_t* data() const { return memory_.data(); }
  void need(const std::vector<int64_t>& offsets, size_t count) override;
  /// Of the copies so far; the first that failed.
  const Status& status() const { return status_; }
  int64_t bytes_copied() const { return bytes_copied_; }

 private:
  DevicePages(Device& device, const Span& span, SparseMemory memory);
  void copy(int64_t first_page, int64_t end_page);

  Device* device_;
  Span span_;
  SparseMemory memory_;
  std::vector<bool> is_here_;  // per page
  Status status_ = Status::ok();
  int64_t bytes_copied_ = 0;
};

}  // namespace kaon::runner
