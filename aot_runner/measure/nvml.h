// Clocks and throttling, from the management library where there is one.
#pragma once

#include <string>

namespace kaon::runner {

/// One GPU's management interface. Without the library every answer is "unknown".
class Nvml {
 public:
  explicit Nvml(const std::string& pci_bus_id);

  /// "580.159.03"; empty when unknown.
  std::string driver_version() const;
  /// Current SM clock in MHz; 0 when unknown.
  int clock_mhz() const;
  /// Whether power, temperature or the hardware holds the clock down now; false when unknown.
  bool is_throttled() const;

 private:
  void* library_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace kaon::runner
