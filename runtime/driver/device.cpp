// How the facts of a device are asked of the driver.
#include "runtime/driver/device.h"

#include "runtime/base/text.h"

namespace kaon::cuda {

Result<int> device_count(const Driver& driver) {
  int count = 0;
  KAON_CUDA_RETURN_IF_ERROR(driver, device_get_count, &count);
  return count;
}

Result<DeviceInfo> device_info(const Driver& driver, int ordinal) {
  KAON_ASSIGN_OR_RETURN(int count, device_count(driver));
  if (ordinal < 0 || ordinal >= count) {
    return make_status(Code::kNoDevice, "device cuda:", ordinal, " does not exist, the driver shows ", count);
  }
  DeviceInfo info;
  info.ordinal = ordinal;
  KAON_CUDA_RETURN_IF_ERROR(driver, device_get, &info.device, ordinal);
  char text[256] = {};
  KAON_CUDA_RETURN_IF_ERROR(driver, device_get_name, text, static_cast<int>(sizeof text) - 1, info.device);
  info.name = text;
  char bus_id[64] = {};
  KAON_CUDA_RETURN_IF_ERROR(driver, device_get_pci_bus_id, bus_id, static_cast<int>(sizeof bus_id) - 1, info.device);
  info.pci_bus_id = bus_id;
  size_t bytes = 0;
  KAON_CUDA_RETURN_IF_ERROR(driver, device_total_mem, &bytes, info.device);
  info.memory_bytes = bytes;

  int major = 0, minor = 0;
  struct {
    CuDeviceAttribute attribute;
    int* value;
  } const wanted[] = {
      {kDeviceComputeCapabilityMajor, &major},
      {kDeviceComputeCapabilityMinor, &minor},
      {kDeviceMultiprocessorCount, &info.num_sms},
      {kDeviceMaxThreadsPerBlock, &info.max_threads_per_block},
      {kDeviceMaxSharedBytesPerBlockOptin, &info.max_shared_bytes},
      {kDeviceMaxRegistersPerBlock, &info.registers_per_block},
      {kDeviceL2CacheBytes, &info.l2_bytes},
      {kDeviceClockRateKhz, &info.clock_khz},
      {kDeviceMemoryClockRateKhz, &info.memory_clock_khz},
      {kDeviceMemoryBusWidthBits, &info.memory_bus_bits},
  };
  for (const auto& want : wanted) {
    KAON_CUDA_RETURN_IF_ERROR(driver, device_get_attribute, want.value, want.attribute, info.device);
  }
  info.sm = major * 10 + minor;
  return info;
}

}  // namespace kaon::cuda
