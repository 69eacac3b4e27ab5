// Parameters and grids of the helper kernels.
#include "aot_runner/measure/device_kernels.h"

#include <algorithm>
#include <bit>

extern "C" const char kaon_device_kernels_ptx[];

namespace kaon::runner {

namespace {

constexpr unsigned kThreads = 256;
constexpr unsigned kBlocksPerSm = 8;

/// What the PTX calls a format.
uint64_t format_of(DType dtype) {
  switch (dtype) {
    case DType::kF64: return 0;
    case DType::kF32: return 1;
    case DType::kF16: return 2;
    case DType::kBF16: return 3;
    case DType::kF8E5M2: return 4;
    case DType::kF8E4M3: return 5;
    case DType::kI8: return 6;
    case DType::kI16: return 7;
    case DType::kI32: return 8;
    case DType::kI64: return 9;
    case DType::kBool:
    case DType::kU8: return 10;
    case DType::kU32: return 11;
  }
  return 10;
}

uint64_t bits(double value) { return std::bit_cast<uint64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

}  // namespace

Result<DeviceKernels> DeviceKernels::load(const cuda::Driver& driver, cuda::CuStream stream, int num_sms) {
  DeviceKernels kernels;
  kernels.driver_ = &driver;
  kernels.stream_ = stream;
  kernels.num_sms_ = std::max(1, num_sms);
  KAON_ASSIGN_OR_RETURN(kernels.library_, cuda::load_library(driver, kaon_device_kernels_ptx));
  const struct {
    const char* symbol;
    cuda::CuFunction* function;
  } entries[] = {{"kaon_fill", &kernels.fill_},
                 {"kaon_hash", &kernels.hash_},
                 {"kaon_find", &kernels.find_},
                 {"kaon_compare", &kernels.compare_},
                 {"kaon_copy", &kernels.copy_}};
  for (const auto& entry : entries) {
    KAON_ASSIGN_OR_RETURN(*entry.function, cuda::load_function(driver, kernels.library_.get(), entry.symbol, 0));
  }
  return kernels;
}

Status DeviceKernels::launch(cuda::CuFunction function, unsigned blocks, const void* parameters, size_t bytes) const {
  void* extra[] = {cuda::launch_param_buffer_pointer(), const_cast<void*>(parameters), cuda::launch_param_buffer_size(),
                   &bytes, cuda::launch_param_end()};
  KAON_CUDA_RETURN_IF_ERROR(*driver_, launch_kernel, function, blocks, 1, 1, kThreads, 1, 1, 0, stream_, nullptr,
                            extra);
  return Status::ok();
}

unsigned DeviceKernels::blocks_for(int64_t count) const {
  const int64_t wanted = (count + kThreads - 1) / kThreads;
  return static_cast<unsigned>(std::clamp<int64_t>(wanted, 1, int64_t{num_sms_} * kBlocksPerSm));
}

Status DeviceKernels::fill(int64_t data, int64_t count, DType dtype, const FillPlan& plan, uint64_t seed) const {
  const uint64_t parameters[] = {bits(data),      bits(count),      format_of(dtype), static_cast<uint64_t>(plan.kind),
                                 bits(plan.base), bits(plan.scale), plan.count,       seed * 0x9e3779b97f4a7c15ull};
  return launch(fill_, blocks_for(count), parameters, sizeof parameters);
}

Status DeviceKernels::hash(int64_t data, int64_t count, int element_bytes, int64_t result) const {
  const uint64_t parameters[] = {bits(data), bits(count), static_cast<uint64_t>(element_bytes), bits(result)};
  return launch(hash_, blocks_for(count), parameters, sizeof parameters);
}

Status DeviceKernels::find(int64_t data, int64_t count, int element_bytes, uint64_t pattern, bool differing,
                           int64_t result) const {
  const uint64_t mask = element_bytes == 8 ? ~uint64_t{0} : (uint64_t{1} << (8 * element_bytes)) - 1;
  const uint64_t parameters[] = {bits(data),     bits(count), static_cast<uint64_t>(element_bytes),
                                 pattern & mask, differing,   bits(result)};
  return launch(find_, blocks_for(count), parameters, sizeof parameters);
}

Status DeviceKernels::compare(int64_t got, int64_t want, int64_t count, DType dtype, double absolute, double relative,
                              int64_t result) const {
  const uint64_t parameters[] = {bits(got),      bits(want),     bits(count), format_of(dtype),
                                 bits(absolute), bits(relative), bits(result)};
  return launch(compare_, blocks_for(count), parameters, sizeof parameters);
}

Status DeviceKernels::copy(int64_t from, int64_t to, int64_t bytes) const {
  const int64_t vectors = bytes / 16;
  const uint64_t parameters[] = {bits(from), bits(to), bits(vectors)};
  const int64_t blocks = std::max<int64_t>(1, (vectors + kThreads - 1) / kThreads);
  return launch(copy_, static_cast<unsigned>(blocks), parameters, sizeof parameters);
}

}  // namespace kaon::runner
