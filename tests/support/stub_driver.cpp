// A CUDA driver without a GPU: it records what it is asked to do, can be told what devices it has and what must fail.
#include "tests/support/stub_driver.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/driver/cuda_types.h"

using namespace kaon::cuda;

namespace {

struct Library {
  std::string image;
};

struct Function {
  std::string symbol;
  int shared_limit = 48 * 1024;
};

struct State {
  std::mutex mutex;
  std::vector<StubDevice> devices = {{90, 232448, 132}};
  std::map<std::string, int> failures;
  std::map<std::string, uint64_t> calls;
  std::vector<Library*> libraries;
  std::vector<Function*> functions;
  StubLaunch last = {};
};

State& state() {
  static State* const instance = [] {
    auto* made = new State;
    // A process that has no way to call the setters gets its device from the environment: "86:101376".
    if (const char* device = getenv("KAON_STUB_DEVICE")) {
      made->devices[0].sm = atoi(device);
      if (const char* colon = strchr(device, ':')) made->devices[0].max_shared_bytes = atoi(colon + 1);
    }
    if (const char* failing = getenv("KAON_STUB_FAIL_INIT")) made->failures["cuInit"] = atoi(failing);
    return made;
  }();
  return *instance;
}

std::atomic<bool> is_recording{true};
std::atomic<bool> is_capturing{false};
char contexts[16];
thread_local int current_device = 0;  // of the calling thread's context; -1 for none

CuContext context_of(int device) { return device < 0 ? nullptr : reinterpret_cast<CuContext>(&contexts[device]); }
int device_of(CuContext context) {
  return context == nullptr ? -1 : static_cast<int>(reinterpret_cast<char*>(context) - contexts);
}

__attribute__((noinline)) CuResult count_call(const char* symbol) {
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().calls[symbol];
  auto it = state().failures.find(symbol);
  return it == state().failures.end() ? kCudaSuccess : static_cast<CuResult>(it->second);
}

// Counts the call and gives the failure that the test asked for. Skipped while only timing.
inline CuResult enter(const char* symbol) {
  return is_recording.load(std::memory_order_relaxed) ? count_call(symbol) : kCudaSuccess;
}

__attribute__((noinline)) void record(CuFunction function, unsigned grid, unsigned threads, unsigned shared_bytes, unsigned cluster,
            CuStream stream, void** extra) {
  std::lock_guard<std::mutex> lock(state().mutex);
  StubLaunch& last = state().last;
  ++last.count;
  last.function = function;
  last.grid = grid;
  last.threads = threads;
  last.shared_bytes = shared_bytes;
  last.cluster = cluster;
  last.stream = stream;
  size_t bytes = *static_cast<size_t*>(extra[3]);
  last.num_slots = static_cast<int>(bytes / sizeof(int64_t));
  memcpy(last.slots, extra[1], bytes);
  const std::string& symbol = reinterpret_cast<Function*>(function)->symbol;
  strncpy(last.symbol, symbol.c_str(), sizeof last.symbol - 1);
  last.symbol[symbol.size() < sizeof last.symbol ? symbol.size() : sizeof last.symbol - 1] = '\0';
}

#define ENTER(symbol)                                                     \
  do {                                                                    \
    if (CuResult failure = enter(symbol); failure != 0) return failure;   \
  } while (false)

}  // namespace

extern "C" {

void stub_set_devices(const StubDevice* devices, int count) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().devices.assign(devices, devices + count);
}

void stub_reset() {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().failures.clear();
  state().calls.clear();
  state().last = {};
  is_capturing = false;
  is_recording = true;
  current_device = 0;
}

void stub_set_context(int device) { current_device = device; }

void stub_fail(const char* symbol, int result) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (result == 0) {
    state().failures.erase(symbol);
  } else {
    state().failures[symbol] = result;
  }
}

void stub_set_capturing(int capturing) { is_capturing = capturing != 0; }
void stub_set_recording(int recording) { is_recording = recording != 0; }

StubLaunch stub_last_launch() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().last;
}

uint64_t stub_calls(const char* symbol) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().calls[symbol];
}

CuResult cuInit(unsigned) { return enter("cuInit"); }
CuResult cuDriverGetVersion(int* version) { return *version = 13000, enter("cuDriverGetVersion"); }

CuResult cuGetErrorName(CuResult error, const char** name) {
  static const std::map<int, const char*> names = {
      {1, "CUDA_ERROR_INVALID_VALUE"},      {2, "CUDA_ERROR_OUT_OF_MEMORY"}, {100, "CUDA_ERROR_NO_DEVICE"},
      {209, "CUDA_ERROR_NO_BINARY_FOR_GPU"}, {500, "CUDA_ERROR_NOT_FOUND"},  {700, "CUDA_ERROR_ILLEGAL_ADDRESS"},
  };
  auto it = names.find(error);
  if (it == names.end()) return kCudaErrorInvalidValue;
  *name = it->second;
  return kCudaSuccess;
}

CuResult cuDeviceGetCount(int* count) {
  ENTER("cuDeviceGetCount");
  *count = static_cast<int>(state().devices.size());
  return kCudaSuccess;
}
CuResult cuDeviceGet(CuDevice* device, int ordinal) { return *device = ordinal, enter("cuDeviceGet"); }
CuResult cuDeviceGetName(char* name, int length, CuDevice device) {
  ENTER("cuDeviceGetName");
  strncpy(name, ("Stub " + std::to_string(state().devices[device].sm)).c_str(), length);
  return kCudaSuccess;
}
CuResult cuDeviceGetAttribute(int* value, CuDeviceAttribute attribute, CuDevice device) {
  ENTER("cuDeviceGetAttribute");
  const StubDevice& info = state().devices[device];
  switch (attribute) {
    case kDeviceComputeCapabilityMajor: *value = info.sm / 10; break;
    case kDeviceComputeCapabilityMinor: *value = info.sm % 10; break;
    case kDeviceMaxSharedBytesPerBlockOptin: *value = info.max_shared_bytes; break;
    case kDeviceMultiprocessorCount: *value = info.num_sms; break;
    case kDeviceMaxThreadsPerBlock: *value = 1024; break;
    case kDeviceMaxRegistersPerBlock: *value = 65536; break;
    default: *value = 1; break;
  }
  return kCudaSuccess;
}
CuResult cuDeviceTotalMem_v2(size_t* bytes, CuDevice) { return *bytes = size_t{1} << 37, kCudaSuccess; }
CuResult cuDeviceGetPCIBusId(char* id, int length, CuDevice) { return strncpy(id, "0000:00:00.0", length), kCudaSuccess; }
CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  ENTER("cuDevicePrimaryCtxRetain");
  *context = context_of(device);
  return kCudaSuccess;
}
CuResult cuDevicePrimaryCtxRelease_v2(CuDevice) { return enter("cuDevicePrimaryCtxRelease_v2"); }

CuResult cuCtxGetCurrent(CuContext* context) { return *context = context_of(current_device), enter("cuCtxGetCurrent"); }
CuResult cuCtxSetCurrent(CuContext context) {
  ENTER("cuCtxSetCurrent");
  current_device = device_of(context);
  return kCudaSuccess;
}
CuResult cuCtxGetDevice(CuDevice* device) { return *device = current_device, enter("cuCtxGetDevice"); }
CuResult cuCtxSynchronize() { return enter("cuCtxSynchronize"); }

CuResult cuLibraryLoadData(CuLibrary* library, const void* code, int*, void**, unsigned, int*, void**, unsigned) {
  ENTER("cuLibraryLoadData");
  std::lock_guard<std::mutex> lock(state().mutex);
  // Test images are texts; a symbol that an image has is any that the text contains.
  state().libraries.push_back(new Library{static_cast<const char*>(code)});
  *library = reinterpret_cast<CuLibrary>(state().libraries.back());
  return kCudaSuccess;
}
CuResult cuLibraryUnload(CuLibrary) { return enter("cuLibraryUnload"); }
CuResult cuLibraryGetKernel(CuKernel* kernel, CuLibrary library, const char* name) {
  ENTER("cuLibraryGetKernel");
  const bool is_known = reinterpret_cast<Library*>(library)->image.find(name) != std::string::npos;
  if (is_recording.load(std::memory_order_relaxed) && !is_known) return kCudaErrorNotFound;
  std::lock_guard<std::mutex> lock(state().mutex);
  state().functions.push_back(new Function{name});
  *kernel = reinterpret_cast<CuKernel>(state().functions.back());
  return kCudaSuccess;
}
CuResult cuKernelGetFunction(CuFunction* function, CuKernel kernel) {
  *function = reinterpret_cast<CuFunction>(kernel);
  return enter("cuKernelGetFunction");
}
CuResult cuFuncSetAttribute(CuFunction function, CuFunctionAttribute attribute, int value) {
  ENTER("cuFuncSetAttribute");
  if (value > state().devices[current_device].max_shared_bytes) return kCudaErrorInvalidValue;
  if (attribute == kFunctionMaxDynamicSharedBytes) reinterpret_cast<Function*>(function)->shared_limit = value;
  return kCudaSuccess;
}
CuResult cuFuncGetAttribute(int* value, CuFunctionAttribute, CuFunction) { return *value = 32, enter("cuFuncGetAttribute"); }
CuResult cuFuncLoad(CuFunction) { return enter("cuFuncLoad"); }
CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction, int, size_t) {
  return *blocks = 1, enter("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

CuResult cuLaunchKernel(CuFunction function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned, unsigned,
                        unsigned shared_bytes, CuStream stream, void**, void** extra) {
  ENTER("cuLaunchKernel");
  if (grid_x == 0 || static_cast<int>(shared_bytes) > reinterpret_cast<Function*>(function)->shared_limit) {
    return kCudaErrorInvalidValue;
  }
  if (is_recording.load(std::memory_order_relaxed)) record(function, grid_x, block_x, shared_bytes, 1, stream, extra);
  return kCudaSuccess;
}
CuResult cuLaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void**, void** extra) {
  ENTER("cuLaunchKernelEx");
  unsigned cluster = config->num_attributes > 0 ? config->attributes[0].value.cluster.x : 1;
  record(function, config->grid_x, config->block_x, config->shared_bytes, cluster, config->stream, extra);
  return kCudaSuccess;
}

CuResult cuMemGetInfo_v2(size_t* free, size_t* total) { return *free = *total = size_t{1} << 37, kCudaSuccess; }
CuResult cuMemAlloc_v2(CuDevicePtr* pointer, size_t bytes) {
  ENTER("cuMemAlloc_v2");
  *pointer = reinterpret_cast<CuDevicePtr>(malloc(bytes));
  return kCudaSuccess;
}
CuResult cuMemFree_v2(CuDevicePtr pointer) { return free(reinterpret_cast<void*>(pointer)), enter("cuMemFree_v2"); }
CuResult cuMemAllocHost_v2(void** pointer, size_t bytes) { return *pointer = malloc(bytes), enter("cuMemAllocHost_v2"); }
CuResult cuMemFreeHost(void* pointer) { return free(pointer), enter("cuMemFreeHost"); }
CuResult cuMemcpyHtoDAsync_v2(CuDevicePtr to, const void* from, size_t bytes, CuStream) {
  return memcpy(reinterpret_cast<void*>(to), from, bytes), enter("cuMemcpyHtoDAsync_v2");
}
CuResult cuMemcpyDtoHAsync_v2(void* to, CuDevicePtr from, size_t bytes, CuStream) {
  return memcpy(to, reinterpret_cast<void*>(from), bytes), enter("cuMemcpyDtoHAsync_v2");
}
CuResult cuMemcpyDtoDAsync_v2(CuDevicePtr to, CuDevicePtr from, size_t bytes, CuStream) {
  return memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes), enter("cuMemcpyDtoDAsync_v2");
}
CuResult cuMemsetD8Async(CuDevicePtr to, unsigned char value, size_t count, CuStream) {
  ENTER("cuMemsetD8Async");
  std::lock_guard<std::mutex> lock(state().mutex);
  ++state().last.zeros;
  state().last.zero_bytes += count;
  memset(reinterpret_cast<void*>(to), value, count);
  return kCudaSuccess;
}
CuResult cuMemsetD32Async(CuDevicePtr, unsigned, size_t, CuStream) { return enter("cuMemsetD32Async"); }

CuResult cuStreamCreate(CuStream* stream, unsigned) { return *stream = reinterpret_cast<CuStream>(0x5), enter("cuStreamCreate"); }
CuResult cuStreamDestroy_v2(CuStream) { return enter("cuStreamDestroy_v2"); }
CuResult cuStreamSynchronize(CuStream) { return enter("cuStreamSynchronize"); }
CuResult cuStreamQuery(CuStream) { return enter("cuStreamQuery"); }
CuResult cuStreamWaitEvent(CuStream, CuEvent, unsigned) { return enter("cuStreamWaitEvent"); }
CuResult cuStreamIsCapturing(CuStream, CuCaptureStatus* status) {
  ENTER("cuStreamIsCapturing");
  *status = is_capturing ? kCaptureActive : kCaptureNone;
  return kCudaSuccess;
}
CuResult cuStreamBeginCapture_v2(CuStream, CuCaptureMode) { return is_capturing = true, enter("cuStreamBeginCapture_v2"); }
CuResult cuStreamEndCapture(CuStream, CuGraph* graph) {
  is_capturing = false;
  *graph = reinterpret_cast<CuGraph>(0x6);
  return enter("cuStreamEndCapture");
}
CuResult cuThreadExchangeStreamCaptureMode(CuCaptureMode* mode) {
  static thread_local CuCaptureMode current = kCaptureGlobal;
  std::swap(current, *mode);
  return enter("cuThreadExchangeStreamCaptureMode");
}

CuResult cuEventCreate(CuEvent* event, unsigned) { return *event = reinterpret_cast<CuEvent>(0x7), enter("cuEventCreate"); }
CuResult cuEventDestroy_v2(CuEvent) { return enter("cuEventDestroy_v2"); }
CuResult cuEventRecord(CuEvent, CuStream) { return enter("cuEventRecord"); }
CuResult cuEventQuery(CuEvent) { return enter("cuEventQuery"); }
CuResult cuEventSynchronize(CuEvent) { return enter("cuEventSynchronize"); }
CuResult cuEventElapsedTime(float* milliseconds, CuEvent, CuEvent) { return *milliseconds = 1, enter("cuEventElapsedTime"); }

CuResult cuGraphInstantiateWithFlags(CuGraphExec* executable, CuGraph, unsigned long long) {
  return *executable = reinterpret_cast<CuGraphExec>(0x8), enter("cuGraphInstantiateWithFlags");
}
CuResult cuGraphLaunch(CuGraphExec, CuStream) { return enter("cuGraphLaunch"); }
CuResult cuGraphDestroy(CuGraph) { return enter("cuGraphDestroy"); }
CuResult cuGraphExecDestroy(CuGraphExec) { return enter("cuGraphExecDestroy"); }

}  // extern "C"
