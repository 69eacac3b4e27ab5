// The backend that serves CUDA tensors, through the driver.
#pragma once

#include "runtime/driver/device.h"
#include "runtime/launch/backend.h"

namespace kaon {

/// What choosing a variant needs to know of a device that the driver has described.
DeviceFacts facts_of(const cuda::DeviceInfo& info);

/// The process's CUDA backend; made by the first call that finds a driver. kNoDevice as kaon::cuda::driver() reports
/// it. In a child of a process that had used CUDA everything that the backend is asked gives kUnsupported.
Status cuda_backend(Backend** backend);

/// The same without a Status: null until cuda_backend() has succeeded.
Backend* ready_cuda_backend();

}  // namespace kaon
