// How the launch path's questions are put to the CUDA driver.
#include "runtime/launch/cuda_backend.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "runtime/driver/device.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/handles.h"

namespace kaon {
namespace {

using cuda::CuContext;
using cuda::CuFunction;
using cuda::CuLibrary;
using cuda::CuResult;
using cuda::CuStream;

class CudaBackend : public Backend {
 public:
  explicit CudaBackend(const cuda::Driver& driver) : driver_(driver) {}

  const char* name() const override { return "cuda"; }

  Result<DeviceFacts> device_facts(int device) override {
    std::lock_guard<std::mutex> lock(mutex_);
    for (const DeviceFacts& known : facts_) {
      if (known.device == device) return known;
    }
    KAON_ASSIGN_OR_RETURN(cuda::DeviceInfo info, cuda::device_info(driver_, device));
    DeviceFacts facts;
    facts.hardware = "sm" + std::to_string(info.sm);
    facts.name = info.name;
    facts.device = device;
    facts.sm = info.sm;
    facts.num_sms = static_cast<uint32_t>(info.num_sms);
    facts.max_shared_bytes = static_cast<uint32_t>(info.max_shared_bytes);
    facts.registers_per_block = static_cast<uint32_t>(info.registers_per_block);
    facts.max_threads = static_cast<uint32_t>(info.max_threads_per_block);
    facts_.push_back(facts);
    return facts;
  }

  Status current_context(int device, uint64_t* context) override {
    CuContext current = nullptr;
    KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_get_current, &current);
    if (current == nullptr) return adopt_primary_context(device, context);
    *context = reinterpret_cast<uint64_t>(current);
    return Status::ok();
  }

  Status check_context(int device) override {
    cuda::CuDevice current = 0, wanted = 0;
    KAON_ASSIGN_OR_RETURN(cuda::DeviceInfo info, cuda::device_info(driver_, device));
    wanted = info.device;
    KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_get_device, &current);
    if (current == wanted) return Status::ok();
    return {Code::kInvalidArgument, "the tensors lie on cuda:" + std::to_string(device) +
                                        ", the calling thread's context is of cuda:" + std::to_string(current)};
  }

  Result<void*> load_image(const ImageBytes& image, const std::string& what) override {
    cuda::RelaxedCapture relaxed(driver_);
    Result<cuda::Library> library = cuda::load_library(driver_, image.data);
    if (!library.is_ok()) return Status(library.status().code(), what + ": " + library.status().message());
    // Never unloaded: captured graphs hold its functions.
    return static_cast<void*>(library->release());
  }

  Result<void*> load_function(void* image, const char* symbol, int, uint32_t shared_bytes) override {
    cuda::RelaxedCapture relaxed(driver_);
    KAON_ASSIGN_OR_RETURN(CuFunction function,
                          cuda::load_function(driver_, static_cast<CuLibrary>(image), symbol, shared_bytes));
    return static_cast<void*>(function);
  }

  Status launch(void* function, const LaunchDims& dims, const int64_t* slots, int num_slots, void* stream) override {
    // The row of slots is the parameter buffer: 8 bytes each, in order, as the kernel declares them.
    size_t bytes = static_cast<size_t>(num_slots) * sizeof(int64_t);
    void* extra[] = {cuda::launch_param_buffer_pointer(), const_cast<int64_t*>(slots), cuda::launch_param_buffer_size(),
                     &bytes, cuda::launch_param_end()};
    CuFunction handle = static_cast<CuFunction>(function);
    unsigned grid = static_cast<unsigned>(dims.programs);
    if (dims.cluster > 1) return launch_clusters(handle, dims, stream, extra);
    KAON_CUDA_RETURN_IF_ERROR(driver_, launch_kernel, handle, grid, 1, 1, dims.threads, 1, 1, dims.shared_bytes,
                              static_cast<CuStream>(stream), nullptr, extra);
    return Status::ok();
  }

  Status zero(void* pointer, size_t bytes, void* stream) override {
    KAON_CUDA_RETURN_IF_ERROR(driver_, memset_d8_async, reinterpret_cast<cuda::CuDevicePtr>(pointer), 0, bytes,
                              static_cast<CuStream>(stream));
    return Status::ok();
  }

  Result<bool> is_capturing(void* stream) override {
    cuda::CuCaptureStatus status = cuda::kCaptureNone;
    KAON_CUDA_RETURN_IF_ERROR(driver_, stream_is_capturing, static_cast<CuStream>(stream), &status);
    return status != cuda::kCaptureNone;
  }

 private:
  // A thread without a context gets the device's primary one, as it would from the CUDA runtime.
  Status adopt_primary_context(int device, uint64_t* context) {
    std::lock_guard<std::mutex> lock(mutex_);
    CuContext primary = nullptr;
    for (const Primary& known : primaries_) {
      if (known.device == device) primary = known.context;
    }
    if (primary == nullptr) {
      KAON_ASSIGN_OR_RETURN(cuda::DeviceInfo info, cuda::device_info(driver_, device));
      KAON_CUDA_RETURN_IF_ERROR(driver_, device_primary_ctx_retain, &primary, info.device);
      primaries_.push_back({device, primary});
    }
    KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_set_current, primary);
    *context = reinterpret_cast<uint64_t>(primary);
    return Status::ok();
  }

  Status launch_clusters(CuFunction function, const LaunchDims& dims, void* stream, void** extra) {
    if (driver_.launch_kernel_ex == nullptr) {
      return {Code::kUnsupported, "the driver has no cuLaunchKernelEx, which clusters need; update the NVIDIA driver"};
    }
    cuda::CuLaunchAttribute attribute = {};
    attribute.id = cuda::kLaunchClusterDimension;
    attribute.value.cluster.x = dims.cluster;
    attribute.value.cluster.y = 1;
    attribute.value.cluster.z = 1;
    cuda::CuLaunchConfig config = {};
    config.grid_x = static_cast<unsigned>(dims.programs);
    config.grid_y = config.grid_z = 1;
    config.block_x = dims.threads;
    config.block_y = config.block_z = 1;
    config.shared_bytes = dims.shared_bytes;
    config.stream = static_cast<CuStream>(stream);
    config.attributes = &attribute;
    config.num_attributes = 1;
    KAON_CUDA_RETURN_IF_ERROR(driver_, launch_kernel_ex, &config, function, nullptr, extra);
    return Status::ok();
  }

  struct Primary {
    int device;
    CuContext context;
  };
  const cuda::Driver& driver_;
  std::mutex mutex_;
  std::vector<DeviceFacts> facts_;
  std::vector<Primary> primaries_;
};

struct BackendOrError {
  Status status;
  std::unique_ptr<CudaBackend> backend;
};

const BackendOrError& instance() {
  // Leaked on purpose: calls may come while the program is ending.
  static const BackendOrError* const made = [] {
    auto* answer = new BackendOrError;
    Result<const cuda::Driver*> driver = cuda::driver();
    answer->status = driver.status();
    if (driver.is_ok()) answer->backend = std::make_unique<CudaBackend>(**driver);
    return answer;
  }();
  return *made;
}

std::atomic<Backend*> installed_host_backend{nullptr};
std::atomic<Backend*> made_cuda_backend{nullptr};

}  // namespace

Status cuda_backend(Backend** backend) {
  const BackendOrError& made = instance();
  *backend = made.backend.get();
  made_cuda_backend.store(*backend, std::memory_order_release);
  return *backend != nullptr ? Status::ok() : made.status;
}

Backend* ready_cuda_backend() { return made_cuda_backend.load(std::memory_order_acquire); }

Backend* host_backend() { return installed_host_backend.load(std::memory_order_acquire); }

void install_host_backend(Backend* backend) { installed_host_backend.store(backend, std::memory_order_release); }

}  // namespace kaon
