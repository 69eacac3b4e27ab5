// The management library by dlopen; it stays open, since the process measures until it ends.
#include "aot_runner/measure/nvml.h"

#include <dlfcn.h>

namespace kaon::runner {

namespace {

constexpr int kSmClock = 1;
// Bits of the reasons: software power cap, hardware slowdown, software and hardware thermal slowdown, power brake.
constexpr unsigned long long kHeldDown = 0x4 | 0x8 | 0x20 | 0x40 | 0x80;

/// Calls library function `name`; false when it is missing or fails.
template <typename... Args>
bool call(void* library, const char* name, Args... args) {
  if (library == nullptr) return false;
  auto function = reinterpret_cast<int (*)(Args...)>(dlsym(library, name));
  return function != nullptr && function(args...) == 0;
}

}  // namespace

Nvml::Nvml(const std::string& pci_bus_id) {
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!call(library, "nvmlInit_v2")) return;
  library_ = library;
  if (!call(library_, "nvmlDeviceGetHandleByPciBusId_v2", pci_bus_id.c_str(), &device_)) device_ = nullptr;
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  return call(library_, "nvmlSystemGetDriverVersion", &text[0], static_cast<unsigned>(sizeof text)) ? text : "";
}

int Nvml::clock_mhz() const {
  unsigned mhz = 0;
  return device_ != nullptr && call(library_, "nvmlDeviceGetClockInfo", device_, kSmClock, &mhz) ? static_cast<int>(mhz)
                                                                                                 : 0;
}

bool Nvml::is_throttled() const {
  unsigned long long reasons = 0;
  return device_ != nullptr && call(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", device_, &reasons) &&
         (reasons & kHeldDown) != 0;
}

}  // namespace kaon::runner
