// How driver objects are made.
#include "runtime/driver/handles.h"

#include "runtime/base/text.h"

namespace kaon::cuda {

Result<ContextGuard> ContextGuard::enter(const Driver& driver, CuContext context) {
  CuContext saved = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, ctx_get_current, &saved);
  KAON_CUDA_RETURN_IF_ERROR(driver, ctx_set_current, context);
  return ContextGuard(&driver, saved);
}

ContextGuard::~ContextGuard() {
  // Tried again once: the thread is the caller's.
  if (driver_ != nullptr && driver_->ctx_set_current(saved_) != kCudaSuccess) driver_->ctx_set_current(saved_);
}

Result<PrimaryContext> PrimaryContext::retain(const Driver& driver, CuDevice device) {
  CuContext context = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, device_primary_ctx_retain, &context, device);
  return PrimaryContext(&driver, device, context);
}

Result<Library> load_library(const Driver& driver, const void* image) {
  CuLibrary library = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, library_load_data, &library, image, nullptr, nullptr, 0, nullptr, nullptr, 0);
  return Library(driver, library);
}

Result<CuFunction> load_function(const Driver& driver, CuLibrary library, const char* symbol, uint32_t shared_bytes) {
  CuKernel kernel = nullptr;
  CuResult result = driver.library_get_kernel(&kernel, library, symbol);
  if (result != kCudaSuccess) return to_status(driver, result, cat(symbols::library_get_kernel, " ", symbol).c_str());
  CuFunction function = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, kernel_get_function, &function, kernel);
  // The driver loads code lazily; an older one has no way to be asked and loads in cuKernelGetFunction.
  if (driver.func_load != nullptr) KAON_CUDA_RETURN_IF_ERROR(driver, func_load, function);
  if (shared_bytes > 0) {
    KAON_CUDA_RETURN_IF_ERROR(driver, func_set_attribute, function, kFunctionMaxDynamicSharedBytes,
                              static_cast<int>(shared_bytes));
  }
  return function;
}

Result<Stream> create_stream(const Driver& driver, CuStreamFlags flags) {
  CuStream stream = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, stream_create, &stream, flags);
  return Stream(driver, stream);
}

Result<Event> create_event(const Driver& driver, CuEventFlags flags) {
  CuEvent event = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, event_create, &event, flags);
  return Event(driver, event);
}

Result<DeviceMemory> allocate_device(const Driver& driver, size_t bytes) {
  CuDevicePtr pointer = 0;
  KAON_CUDA_RETURN_IF_ERROR(driver, mem_alloc, &pointer, bytes);
  return DeviceMemory(driver, pointer);
}

Result<PinnedMemory> allocate_pinned(const Driver& driver, size_t bytes) {
  void* pointer = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, mem_alloc_host, &pointer, bytes);
  return PinnedMemory(driver, pointer);
}

Result<GraphExec> end_capture(const Driver& driver, CuStream stream) {
  CuGraph captured = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, stream_end_capture, stream, &captured);
  Graph graph(driver, captured);
  CuGraphExec executable = nullptr;
  KAON_CUDA_RETURN_IF_ERROR(driver, graph_instantiate, &executable, graph.get(), 0);
  return GraphExec(driver, executable);
}

}  // namespace kaon::cuda
