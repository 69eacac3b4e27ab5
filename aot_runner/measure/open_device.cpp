// From the name of a device to the device.
#include <charconv>

#include "aot_runner/measure/device.h"

namespace kaon::runner {

Result<std::unique_ptr<Device>> open_device(const std::string& name) {
  if (name == "host") return open_host_device();
  const std::string prefix = "cuda:";
  int ordinal = -1;
  if (name == "cuda") {
    ordinal = 0;
  } else if (name.rfind(prefix, 0) == 0) {
    const char* end = name.data() + name.size();
    const auto parsed = std::from_chars(name.data() + prefix.size(), end, ordinal);
    if (parsed.ec != std::errc() || parsed.ptr != end) ordinal = -1;
  }
  if (ordinal < 0) {
    return Status(Code::kInvalidArgument, "unknown device '" + name + "', expected host, cuda, or cuda:N");
  }
  return open_cuda_device(ordinal);
}

}  // namespace kaon::runner
