// The helper kernels of device_kernels.ptx as one launchable set.
#pragma once

#include <cstdint>
#include <string>

#include "aot_runner/measure/random_data.h"
#include "runtime/base/dtype.h"
#include "runtime/base/status.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/handles.h"

namespace kaon::runner {

/// All launches go to one stream and are asynchronous on it. The context that load() was called in must be current.
class DeviceKernels {
 public:
  static Result<DeviceKernels> load(const cuda::Driver& driver, cuda::CuStream stream, int num_sms);

  Status fill(int64_t data, int64_t count, DType dtype, const FillPlan& plan, uint64_t seed) const;
  /// `result` is a u64 that starts at 0.
  Status hash(int64_t data, int64_t count, int element_bytes, int64_t result) const;
  /// `result` are two u64, number and first index, that start at 0 and ~0.
  Status find(int64_t data, int64_t count, int element_bytes, uint64_t pattern, bool differing, int64_t result) const;
  Status compare(int64_t got, int64_t want, int64_t count, DType dtype, double absolute, double relative,
                 int64_t result) const;
  Status copy(int64_t from, int64_t to, int64_t bytes) const;

 private:
  Status launch(cuda::CuFunction function, unsigned blocks, const void* parameters, size_t bytes) const;
  unsigned blocks_for(int64_t count) const;

  const cuda::Driver* driver_ = nullptr;
  cuda::CuStream stream_ = nullptr;
  int num_sms_ = 1;
  cuda::Library library_;
  cuda::CuFunction fill_ = nullptr, hash_ = nullptr, find_ = nullptr, compare_ = nullptr, copy_ = nullptr;
};

}  // namespace kaon::runner
