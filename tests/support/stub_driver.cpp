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

constexpr int kMaxDevices = 16, kMaxContexts = 32;  // the first contexts are the primary ones of the devices
constexpr CuResult kInvalidHandle = static_cast<CuResult>(400);
constexpr CuResult kContextIsDestroyed = static_cast<CuResult>(709);
constexpr CuResult kCaptureUnsupported = static_cast<CuResult>(900);

struct Library {
  std::string image;
};

struct Kernel {
  std::string symbol;
};

struct Function {
  std::string symbol;
  uint64_t context_id = 0;
  int shared_limit = 48 * 1024;
};

struct Context {
  int device = -1;  // -1 for a free place
  uint64_t id = 0;  // never given twice
};

struct Failure {
  int result = 0;
  int at = 0;  // the call that fails, counted down; 0 for every call
};

struct Capture {
  CuCaptureMode mode = kCaptureGlobal;
  bool is_valid = true;
};

struct State {
  std::mutex mutex;
  std::vector<StubDevice> devices = {{90, 232448, 132}};
  int version = 13000;
  std::map<std::string, Failure> failures;
  int failing_all = 0;
  std::map<std::string, uint64_t> calls;
  std::map<std::string, int> live;
  std::map<CuStream, Capture> captures;
  Context contexts[kMaxContexts];
  uint64_t next_context_id = 1;
  StubLaunch last = {};
};

void make_primary_contexts(State& s) {
  for (int i = 0; i < kMaxContexts; ++i) s.contexts[i] = {};
  for (int i = 0; i < kMaxDevices; ++i) s.contexts[i] = {i, s.next_context_id++};
}

State& state() {
  static State* const instance = [] {
    auto* made = new State;
    make_primary_contexts(*made);
    // A process that has no way to call the setters gets its device from the environment: "86:101376".
    if (const char* device = getenv("KAON_STUB_DEVICE")) {
      made->devices[0].sm = atoi(device);
      if (const char* colon = strchr(device, ':')) made->devices[0].max_shared_bytes = atoi(colon + 1);
    }
    if (const char* failing = getenv("KAON_STUB_FAIL_INIT")) made->failures["cuInit"].result = atoi(failing);
    return made;
  }();
  return *instance;
}

std::atomic<bool> is_recording{true};
std::atomic<bool> is_capturing{false};
char context_places[kMaxContexts];
thread_local int current_context = 0;
thread_local CuCaptureMode capture_mode = kCaptureGlobal;

CuContext handle_of(int context) {
  return context < 0 ? nullptr : reinterpret_cast<CuContext>(&context_places[context]);
}
int context_of(CuContext handle) {
  return handle == nullptr ? -1 : static_cast<int>(reinterpret_cast<char*>(handle) - context_places);
}

__attribute__((noinline)) CuResult count_call(const char* symbol) {
  State& s = state();
  std::lock_guard<std::mutex> lock(s.mutex);
  ++s.calls[symbol];
  if (s.failing_all != 0) return static_cast<CuResult>(s.failing_all);
  auto it = s.failures.find(symbol);
  if (it == s.failures.end()) return kCudaSuccess;
  const CuResult result = static_cast<CuResult>(it->second.result);
  if (it->second.at == 0) return result;
  if (--it->second.at > 0) return kCudaSuccess;
  s.failures.erase(it);
  return result;
}

// Counts the call and gives the failure that the test asked for. Skipped while only timing.
inline CuResult enter(const char* symbol) {
  return is_recording.load(std::memory_order_relaxed) ? count_call(symbol) : kCudaSuccess;
}

// What a driver does to a call that a capture forbids: refuses it, and the capture is lost. A thread in relaxed mode
// may.
CuResult enter_unsafe(const char* symbol) {
  if (CuResult failure = enter(symbol); failure != 0) return failure;
  if (capture_mode == kCaptureRelaxed) return kCudaSuccess;
  std::lock_guard<std::mutex> lock(state().mutex);
  bool is_refused = false;
  for (auto& [stream, capture] : state().captures) {
    if (capture.mode != kCaptureGlobal) continue;
    capture.is_valid = false;
    is_refused = true;
  }
  return is_refused ? kCaptureUnsupported : kCudaSuccess;
}

void made(const char* kind, int count = 1) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().live[kind] += count;
}

__attribute__((noinline)) CuResult record(CuFunction handle, unsigned grid, unsigned threads, unsigned shared_bytes,
                                          unsigned cluster, CuStream stream, void** extra) {
  std::lock_guard<std::mutex> lock(state().mutex);
  const Function& function = *reinterpret_cast<Function*>(handle);
  // A function of a context that is gone, or of another one.
  if (current_context < 0 || state().contexts[current_context].id != function.context_id) return kInvalidHandle;
  StubLaunch& last = state().last;
  ++last.count;
  last.function = handle;
  last.grid = grid;
  last.threads = threads;
  last.shared_bytes = shared_bytes;
  last.cluster = cluster;
  last.stream = stream;
  size_t bytes = *static_cast<size_t*>(extra[3]);
  last.num_slots = static_cast<int>(bytes / sizeof(int64_t));
  memcpy(last.slots, extra[1], bytes);
  strncpy(last.symbol, function.symbol.c_str(), sizeof last.symbol - 1);
  last.symbol[std::min(function.symbol.size(), sizeof last.symbol - 1)] = '\0';
  return kCudaSuccess;
}

int device_of_current() {
  std::lock_guard<std::mutex> lock(state().mutex);
  return current_context < 0 ? -1 : state().contexts[current_context].device;
}

#define ENTER(symbol)                                                   \
  do {                                                                  \
    if (CuResult failure = enter(symbol); failure != 0) return failure; \
  } while (false)
#define ENTER_UNSAFE(symbol)                                                   \
  do {                                                                         \
    if (CuResult failure = enter_unsafe(symbol); failure != 0) return failure; \
  } while (false)

}  // namespace

extern "C" {

void stub_set_devices(const StubDevice* devices, int count) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().devices.assign(devices, devices + count);
}

void stub_set_version(int version) { state().version = version; }

void stub_reset() {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().failures.clear();
  state().failing_all = 0;
  state().calls.clear();
  state().captures.clear();
  // Primary contexts stay what they are: functions of earlier tests live there.
  for (int i = kMaxDevices; i < kMaxContexts; ++i) state().contexts[i] = {};
  state().last = {};
  is_capturing = false;
  is_recording = true;
  current_context = 0;
  capture_mode = kCaptureGlobal;
}

void stub_set_context(int context) { current_context = context; }
int stub_current_context() { return current_context; }

int stub_make_context(int device) {
  std::lock_guard<std::mutex> lock(state().mutex);
  for (int i = kMaxDevices; i < kMaxContexts; ++i) {
    if (state().contexts[i].device >= 0) continue;
    state().contexts[i] = {device, state().next_context_id++};
    return i;
  }
  return -1;
}

void stub_destroy_context(int context) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().contexts[context] = {};
}

void stub_fail(const char* symbol, int result) { stub_fail_at(symbol, 0, result); }

void stub_fail_at(const char* symbol, int nth, int result) {
  std::lock_guard<std::mutex> lock(state().mutex);
  if (result == 0) {
    state().failures.erase(symbol);
  } else {
    state().failures[symbol] = {result, nth};
  }
}

void stub_fail_all(int result) {
  std::lock_guard<std::mutex> lock(state().mutex);
  state().failing_all = result;
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

int stub_live(const char* kind) {
  std::lock_guard<std::mutex> lock(state().mutex);
  return state().live[kind];
}

CuResult cuInit(unsigned) { return enter("cuInit"); }
CuResult cuDriverGetVersion(int* version) {
  ENTER("cuDriverGetVersion");
  *version = state().version;
  return kCudaSuccess;
}

CuResult cuGetErrorName(CuResult error, const char** name) {
  switch (static_cast<int>(error)) {
#define KAON_CUDA_ERROR(value, text) \
  case value:                        \
    *name = #text;                   \
    return kCudaSuccess;
#include "tests/support/cuda_errors.inc"
#undef KAON_CUDA_ERROR
    default: return kCudaErrorInvalidValue;
  }
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
CuResult cuDeviceTotalMem_v2(size_t* bytes, CuDevice) { return *bytes = size_t{1} << 37, enter("cuDeviceTotalMem_v2"); }
CuResult cuDeviceGetPCIBusId(char* id, int length, CuDevice) {
  return strncpy(id, "0000:00:00.0", length), enter("cuDeviceGetPCIBusId");
}
CuResult cuDevicePrimaryCtxRetain(CuContext* context, CuDevice device) {
  ENTER_UNSAFE("cuDevicePrimaryCtxRetain");
  made("primary");
  *context = handle_of(device);
  return kCudaSuccess;
}
CuResult cuDevicePrimaryCtxRelease_v2(CuDevice) {
  made("primary", -1);
  return enter("cuDevicePrimaryCtxRelease_v2");
}

CuResult cuCtxGetCurrent(CuContext* context) { return *context = handle_of(current_context), enter("cuCtxGetCurrent"); }
CuResult cuCtxSetCurrent(CuContext context) {
  ENTER("cuCtxSetCurrent");
  current_context = context_of(context);
  return kCudaSuccess;
}
CuResult cuCtxGetDevice(CuDevice* device) {
  ENTER("cuCtxGetDevice");
  *device = device_of_current();
  return *device < 0 ? kCudaErrorInvalidContext : kCudaSuccess;
}
CuResult cuCtxGetId(CuContext context, unsigned long long* id) {
  ENTER("cuCtxGetId");
  const int which = context == nullptr ? current_context : context_of(context);
  if (which < 0) return kCudaErrorInvalidContext;
  *id = state().contexts[which].id;
  return *id == 0 ? kContextIsDestroyed : kCudaSuccess;
}
CuResult cuCtxSynchronize() { return enter("cuCtxSynchronize"); }

CuResult cuLibraryLoadData(CuLibrary* library, const void* code, int*, void**, unsigned, int*, void**, unsigned) {
  ENTER_UNSAFE("cuLibraryLoadData");
  // Test images are texts; a symbol that an image has is any that the text contains.
  made("library");
  *library = reinterpret_cast<CuLibrary>(new Library{static_cast<const char*>(code)});
  return kCudaSuccess;
}
CuResult cuLibraryUnload(CuLibrary library) {
  made("library", -1);
  delete reinterpret_cast<Library*>(library);
  return enter("cuLibraryUnload");
}
// Kernels and functions live as long as the process, as launches of them might come late.
CuResult cuLibraryGetKernel(CuKernel* kernel, CuLibrary library, const char* name) {
  ENTER("cuLibraryGetKernel");
  const bool is_known = reinterpret_cast<Library*>(library)->image.find(name) != std::string::npos;
  if (is_recording.load(std::memory_order_relaxed) && !is_known) return kCudaErrorNotFound;
  static std::vector<Kernel*>* const all = new std::vector<Kernel*>;
  std::lock_guard<std::mutex> lock(state().mutex);
  all->push_back(new Kernel{name});
  *kernel = reinterpret_cast<CuKernel>(all->back());
  return kCudaSuccess;
}
CuResult cuKernelGetFunction(CuFunction* function, CuKernel kernel) {
  ENTER_UNSAFE("cuKernelGetFunction");
  static std::vector<Function*>* const all = new std::vector<Function*>;
  std::lock_guard<std::mutex> lock(state().mutex);
  if (current_context < 0) return kCudaErrorInvalidContext;
  all->push_back(new Function{reinterpret_cast<Kernel*>(kernel)->symbol, state().contexts[current_context].id});
  *function = reinterpret_cast<CuFunction>(all->back());
  return kCudaSuccess;
}
CuResult cuFuncSetAttribute(CuFunction function, CuFunctionAttribute attribute, int value) {
  ENTER("cuFuncSetAttribute");
  if (value > state().devices[device_of_current()].max_shared_bytes) return kCudaErrorInvalidValue;
  if (attribute == kFunctionMaxDynamicSharedBytes) reinterpret_cast<Function*>(function)->shared_limit = value;
  return kCudaSuccess;
}
CuResult cuFuncGetAttribute(int* value, CuFunctionAttribute, CuFunction) {
  return *value = 32, enter("cuFuncGetAttribute");
}
CuResult cuFuncLoad(CuFunction) { return enter_unsafe("cuFuncLoad"); }
CuResult cuOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, CuFunction, int, size_t) {
  return *blocks = 1, enter("cuOccupancyMaxActiveBlocksPerMultiprocessor");
}

CuResult cuLaunchKernel(CuFunction function, unsigned grid_x, unsigned, unsigned, unsigned block_x, unsigned, unsigned,
                        unsigned shared_bytes, CuStream stream, void**, void** extra) {
  ENTER("cuLaunchKernel");
  if (grid_x == 0 || static_cast<int>(shared_bytes) > reinterpret_cast<Function*>(function)->shared_limit) {
    return kCudaErrorInvalidValue;
  }
  if (!is_recording.load(std::memory_order_relaxed)) return kCudaSuccess;
  return record(function, grid_x, block_x, shared_bytes, 1, stream, extra);
}
CuResult cuLaunchKernelEx(const CuLaunchConfig* config, CuFunction function, void**, void** extra) {
  ENTER("cuLaunchKernelEx");
  unsigned cluster = config->num_attributes > 0 ? config->attributes[0].value.cluster.x : 1;
  return record(function, config->grid_x, config->block_x, config->shared_bytes, cluster, config->stream, extra);
}

CuResult cuMemGetInfo_v2(size_t* free, size_t* total) {
  return *free = *total = size_t{1} << 37, enter("cuMemGetInfo_v2");
}
CuResult cuMemAlloc_v2(CuDevicePtr* pointer, size_t bytes) {
  ENTER_UNSAFE("cuMemAlloc_v2");
  made("memory");
  *pointer = reinterpret_cast<CuDevicePtr>(malloc(bytes));
  return kCudaSuccess;
}
CuResult cuMemFree_v2(CuDevicePtr pointer) {
  made("memory", -1);
  return free(reinterpret_cast<void*>(pointer)), enter("cuMemFree_v2");
}
CuResult cuMemAllocHost_v2(void** pointer, size_t bytes) {
  ENTER_UNSAFE("cuMemAllocHost_v2");
  made("memory");
  *pointer = malloc(bytes);
  return kCudaSuccess;
}
CuResult cuMemFreeHost(void* pointer) {
  made("memory", -1);
  return free(pointer), enter("cuMemFreeHost");
}
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

CuResult cuStreamCreate(CuStream* stream, unsigned) {
  ENTER("cuStreamCreate");
  made("stream");
  *stream = reinterpret_cast<CuStream>(0x5);
  return kCudaSuccess;
}
CuResult cuStreamDestroy_v2(CuStream) { return made("stream", -1), enter("cuStreamDestroy_v2"); }
CuResult cuStreamSynchronize(CuStream) { return enter("cuStreamSynchronize"); }
CuResult cuStreamQuery(CuStream) { return enter("cuStreamQuery"); }
CuResult cuStreamWaitEvent(CuStream, CuEvent, unsigned) { return enter("cuStreamWaitEvent"); }
CuResult cuStreamIsCapturing(CuStream stream, CuCaptureStatus* status) {
  ENTER("cuStreamIsCapturing");
  std::lock_guard<std::mutex> lock(state().mutex);
  const auto capture = state().captures.find(stream);
  const bool is_invalid = capture != state().captures.end() && !capture->second.is_valid;
  const bool is_active = is_capturing || capture != state().captures.end();
  *status = is_invalid ? kCaptureInvalidated : is_active ? kCaptureActive : kCaptureNone;
  return kCudaSuccess;
}
CuResult cuStreamBeginCapture_v2(CuStream stream, CuCaptureMode mode) {
  ENTER("cuStreamBeginCapture_v2");
  std::lock_guard<std::mutex> lock(state().mutex);
  state().captures[stream] = {mode, true};
  return kCudaSuccess;
}
CuResult cuStreamEndCapture(CuStream stream, CuGraph* graph) {
  std::unique_lock<std::mutex> lock(state().mutex);
  const bool is_valid = state().captures[stream].is_valid;
  state().captures.erase(stream);
  lock.unlock();
  ENTER("cuStreamEndCapture");
  if (!is_valid) return kCudaErrorStreamCaptureInvalidated;
  made("graph");
  *graph = reinterpret_cast<CuGraph>(0x6);
  return kCudaSuccess;
}
CuResult cuThreadExchangeStreamCaptureMode(CuCaptureMode* mode) {
  ENTER("cuThreadExchangeStreamCaptureMode");
  std::swap(capture_mode, *mode);
  return kCudaSuccess;
}

CuResult cuEventCreate(CuEvent* event, unsigned) {
  ENTER("cuEventCreate");
  made("event");
  *event = reinterpret_cast<CuEvent>(0x7);
  return kCudaSuccess;
}
CuResult cuEventDestroy_v2(CuEvent) { return made("event", -1), enter("cuEventDestroy_v2"); }
CuResult cuEventRecord(CuEvent, CuStream) { return enter("cuEventRecord"); }
CuResult cuEventQuery(CuEvent) { return enter("cuEventQuery"); }
CuResult cuEventSynchronize(CuEvent) { return enter("cuEventSynchronize"); }
CuResult cuEventElapsedTime(float* milliseconds, CuEvent, CuEvent) {
  return *milliseconds = 1, enter("cuEventElapsedTime");
}

CuResult cuGraphInstantiateWithFlags(CuGraphExec* executable, CuGraph, unsigned long long) {
  ENTER("cuGraphInstantiateWithFlags");
  made("graph_exec");
  *executable = reinterpret_cast<CuGraphExec>(0x8);
  return kCudaSuccess;
}
CuResult cuGraphLaunch(CuGraphExec, CuStream) { return enter("cuGraphLaunch"); }
CuResult cuGraphDestroy(CuGraph) { return made("graph", -1), enter("cuGraphDestroy"); }
CuResult cuGraphExecDestroy(CuGraphExec) { return made("graph_exec", -1), enter("cuGraphExecDestroy"); }

}  // extern "C"
