// What a GPU is: names, limits and clocks, asked once per device.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/driver/driver.h"

namespace kaon::cuda {

struct DeviceInfo {
  int ordinal = 0;
  CuDevice device = 0;
  std::string name;             // "NVIDIA H200"
  std::string pci_bus_id;
  int sm = 0;                   // 90: compute capability major * 10 + minor
  int num_sms = 0;
  int max_threads_per_block = 0;
  int max_shared_bytes = 0;     // dynamic, opt-in, per block
  int registers_per_block = 0;
  int l2_bytes = 0;
  int clock_khz = 0;
  int memory_clock_khz = 0;
  int memory_bus_bits = 0;
  uint64_t memory_bytes = 0;
};

/// Number of GPUs that the driver shows to this process.
Result<int> device_count(const Driver& driver);

/// kNoDevice with both numbers when `ordinal` is not one of them.
Result<DeviceInfo> device_info(const Driver& driver, int ordinal);

}  // namespace kaon::cuda
