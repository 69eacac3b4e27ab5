// One transfer for each run of neighbouring pages that are still missing.
#include "aot_runner/measure/device_pages.h"

#include <algorithm>
#include <utility>

namespace kaon::runner {

Result<DevicePages> DevicePages::open(Device& device, const Span& span) {
  KAON_ASSIGN_OR_RETURN(SparseMemory memory, SparseMemory::reserve(span.bytes()));
  return DevicePages(device, span, std::move(memory));
}

DevicePages::DevicePages(Device& device, const Span& span, SparseMemory memory)
    : device_(&device),
      span_(span),
      memory_(std::move(memory)),
      is_here_(static_cast<size_t>((span.bytes() + kPageBytes - 1) / kPageBytes), false) {}

void DevicePages::need(const std::vector<int64_t>& offsets, size_t count) {
  const int64_t per_page = kPageBytes / span_.element_bytes;
  int64_t last = -1;
  std::vector<int64_t> missing;
  for (size_t i = 0; i < count; ++i) {
    if (offsets[i] < 0) continue;
    const int64_t page = offsets[i] / per_page;
    if (page == last) continue;
    last = page;
    if (is_here_[static_cast<size_t>(page)]) continue;
    is_here_[static_cast<size_t>(page)] = true;
    missing.push_back(page);
  }
  std::sort(missing.begin(), missing.end());
  for (size_t i = 0; i < missing.size();) {
    size_t end = i + 1;
    while (end < missing.size() && missing[end] == missing[end - 1] + 1) ++end;
    copy(missing[i], missing[end - 1] + 1);
    i = end;
  }
}

void DevicePages::copy(int64_t first_page, int64_t end_page) {
  const int64_t begin = first_page * kPageBytes;
  const int64_t bytes = std::min(end_page * kPageBytes, span_.bytes()) - begin;
  Status copied = device_->read(data() + begin, span_.address + begin, bytes);
  bytes_copied_ += bytes;
  if (status_.is_ok()) status_ = std::move(copied);
}

}  // namespace kaon::runner
