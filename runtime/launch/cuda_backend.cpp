// How the launch path's questions are put to the CUDA driver.
#include "runtime/launch/cuda_backend.h"

#include <pthread.h>

#include <atomic>
#include <deque>
#include <mutex>

#include "runtime/base/text.h"
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
    KAON_ASSIGN_OR_RETURN(const KnownDevice* known, find_device(device));
    return known->facts;
  }

  // By its identity, which is never given twice: a context may be followed by another one at the same address.
  Status current_context(int device, uint64_t* context) override {
    unsigned long long id = 0;
    const CuResult result = driver_.ctx_get_id(nullptr, &id);
    if (__builtin_expect(result != cuda::kCudaSuccess, 0)) return adopt_context(result, device, context);
    *context = id;
    return Status::ok();
  }

  Status check_context(int device) override {
    cuda::CuDevice current = 0, wanted = 0;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      KAON_ASSIGN_OR_RETURN(const KnownDevice* known, find_device(device));
      wanted = known->handle;
    }
    KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_get_device, &current);
    if (current == wanted) return Status::ok();
    return make_status(Code::kInvalidArgument, "the tensors lie on cuda:", device,
                       ", the calling thread's context is of cuda:", current);
  }

  Result<void*> load_image(const ImageBytes& image, const std::string& what) override {
    cuda::RelaxedCapture relaxed(driver_);
    Result<cuda::Library> library = cuda::load_library(driver_, image.data);
    if (!library.is_ok()) return make_status(library.status().code(), what, ": ", library.status().message());
    // Kept until the program says that no graph holds its functions.
    return static_cast<void*>(library->release());
  }

  Status unload_image(void* image) override {
    cuda::RelaxedCapture relaxed(driver_);
    KAON_CUDA_RETURN_IF_ERROR(driver_, library_unload, static_cast<CuLibrary>(image));
    return Status::ok();
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
    const CuResult result = driver_.stream_is_capturing(static_cast<CuStream>(stream), &status);
    // The legacy default stream while a stream is captured that waits for it: work on it would be part of the capture.
    if (result == cuda::kCudaErrorStreamCaptureImplicit) return true;
    if (result != cuda::kCudaSuccess) return cuda::to_status(driver_, result, cuda::symbols::stream_is_capturing);
    return status != cuda::kCaptureNone;
  }

 private:
  struct KnownDevice {
    DeviceFacts facts;
    cuda::CuDevice handle = 0;
    CuContext primary = nullptr;  // null until a thread needed it; kept for good
  };

  // Needs the lock. The devices lie in a deque: their places do not change.
  Result<KnownDevice*> find_device(int device) {
    for (KnownDevice& known : devices_) {
      if (known.facts.device == device) return &known;
    }
    KAON_ASSIGN_OR_RETURN(cuda::DeviceInfo info, cuda::device_info(driver_, device));
    KnownDevice known;
    known.handle = info.device;
    known.facts = facts_of(info);
    devices_.push_back(std::move(known));
    return &devices_.back();
  }

  // A thread without a context gets the device's primary one, as it would from the CUDA runtime. `result` is what
  // cuCtxGetId said.
  __attribute__((noinline, cold)) Status adopt_context(CuResult result, int device, uint64_t* context) {
    CuContext current = nullptr;
    if (result == cuda::kCudaErrorInvalidContext) KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_get_current, &current);
    if (result != cuda::kCudaErrorInvalidContext || current != nullptr) {
      return cuda::to_status(driver_, result, cuda::symbols::ctx_get_id);
    }
    std::lock_guard<std::mutex> lock(mutex_);
    KAON_ASSIGN_OR_RETURN(KnownDevice * known, find_device(device));
    cuda::RelaxedCapture relaxed(driver_);
    if (known->primary == nullptr) {
      KAON_CUDA_RETURN_IF_ERROR(driver_, device_primary_ctx_retain, &known->primary, known->handle);
    }
    KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_set_current, known->primary);
    unsigned long long id = 0;
    KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_get_id, nullptr, &id);
    *context = id;
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

  const cuda::Driver& driver_;
  std::mutex mutex_;
  std::deque<KnownDevice> devices_;
};

// What a child has of a parent that used CUDA: the driver does not survive a fork, and calls of it may hang.
class ForkedBackend final : public Backend {
 public:
  const char* name() const override { return "cuda"; }
  Result<DeviceFacts> device_facts(int) override { return refused(); }
  Status current_context(int, uint64_t*) override { return refused(); }
  Result<void*> load_image(const ImageBytes&, const std::string&) override { return refused(); }
  Status unload_image(void*) override { return refused(); }
  Result<void*> load_function(void*, const char*, int, uint32_t) override { return refused(); }
  Status launch(void*, const LaunchDims&, const int64_t*, int, void*) override { return refused(); }
  Status zero(void*, size_t, void*) override { return refused(); }
  Result<bool> is_capturing(void*) override { return refused(); }

 private:
  static Status refused() {
    return {Code::kUnsupported,
            "this process was forked from one that had used CUDA, which does not survive a fork; fork before the first "
            "call on a GPU, or start the process anew"};
  }
};

std::atomic<Backend*> installed_host_backend{nullptr};
std::atomic<Backend*> made_cuda_backend{nullptr};
std::atomic<bool> is_cuda_touched{false};  // the driver was initialised, or is being initialised

Backend* forked_backend = nullptr;  // made before it is needed: a child may not allocate

void forbid_cuda_in_child() {
  if (is_cuda_touched.load(std::memory_order_relaxed))
    made_cuda_backend.store(forked_backend, std::memory_order_release);
}

}  // namespace

DeviceFacts facts_of(const cuda::DeviceInfo& info) {
  DeviceFacts facts;
  facts.hardware = cat("sm", info.sm);
  facts.name = info.name;
  facts.device = info.ordinal;
  facts.sm = info.sm;
  facts.num_sms = static_cast<uint32_t>(info.num_sms);
  facts.max_shared_bytes = static_cast<uint32_t>(info.max_shared_bytes);
  facts.registers_per_block = static_cast<uint32_t>(info.registers_per_block);
  facts.max_threads = static_cast<uint32_t>(info.max_threads_per_block);
  return facts;
}

Status cuda_backend(Backend** backend) {
  *backend = ready_cuda_backend();
  if (*backend != nullptr) return Status::ok();
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  *backend = ready_cuda_backend();
  if (*backend != nullptr) return Status::ok();
  if (forked_backend == nullptr) {
    forked_backend = new ForkedBackend;
    pthread_atfork(nullptr, nullptr, forbid_cuda_in_child);
  }
  is_cuda_touched = true;
  Result<const cuda::Driver*> driver = cuda::driver();
  if (!driver.is_ok()) {
    is_cuda_touched = false;
    return driver.status();
  }
  // Leaked on purpose: calls may come while the program is ending.
  *backend = new CudaBackend(**driver);
  made_cuda_backend.store(*backend, std::memory_order_release);
  return Status::ok();
}

Backend* ready_cuda_backend() { return made_cuda_backend.load(std::memory_order_acquire); }

Backend* host_backend() { return installed_host_backend.load(std::memory_order_acquire); }

void install_host_backend(Backend* backend) { installed_host_backend.store(backend, std::memory_order_release); }

}  // namespace kaon
