// How the driver library is found and its functions are bound, and how its errors become statuses.
#include "runtime/driver/driver.h"

#include <dlfcn.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "runtime/base/text.h"

namespace kaon::cuda {
namespace {

constexpr int kMinDriverVersion = 12000;  // cuLibraryLoadData

std::string version_text(int version) { return cat(version / 1000, ".", version % 1000 / 10); }

// Where each function goes.
struct Binding {
  const char* symbol;
  uint16_t offset;  // of the member of Driver, a pointer
  bool is_required;
};
constexpr Binding kBindings[] = {
#define KAON_CUDA_FUNCTION(name, symbol, required, parameters) {symbol, offsetof(Driver, name), required},
#include "runtime/driver/cuda_functions.inc"
#undef KAON_CUDA_FUNCTION
};

Result<Driver> open_and_initialise() {
  const char* override_path = getenv("KAON_CUDA_DRIVER");
  std::string path = override_path != nullptr && *override_path != '\0' ? override_path : "libcuda.so.1";
  KAON_ASSIGN_OR_RETURN(Driver table, load_driver(path));
  CuResult result = table.init(0);
  if (result != kCudaSuccess) {
    Status status = to_status(table, result, symbols::init);
    return make_status(Code::kNoDevice, status.message(), "; check that nvidia-smi lists a GPU");
  }
  int version = 0;
  KAON_CUDA_RETURN_IF_ERROR(table, driver_get_version, &version);
  if (version < kMinDriverVersion) {
    return make_status(Code::kNoDevice, "the CUDA driver supports CUDA ", version_text(version), ", at least ",
                       version_text(kMinDriverVersion), " is needed; update the NVIDIA driver");
  }
  return table;
}

Code code_of(CuResult result) {
  switch (result) {
    case kCudaSuccess: return Code::kOk;
    case kCudaErrorOutOfMemory: return Code::kOutOfMemory;
    case kCudaErrorStubLibrary:
    case kCudaErrorDeviceUnavailable:
    case kCudaErrorNoDevice:
    case kCudaErrorInvalidDevice:
    case kCudaErrorSystemNotReady:
    case kCudaErrorSystemDriverMismatch:
    case kCudaErrorCompatNotSupportedOnDevice: return Code::kNoDevice;
    case kCudaErrorFileNotFound:
    case kCudaErrorNotFound: return Code::kNotFound;
    case kCudaErrorNoBinaryForGpu:
    case kCudaErrorUnsupportedPtxVersion:
    case kCudaErrorJitCompilationDisabled:
    case kCudaErrorNotSupported: return Code::kUnsupported;
    case kCudaErrorLaunchTimeout: return Code::kTimeout;
    default: return Code::kDriver;
  }
}

}  // namespace

Result<Driver> load_driver(const std::string& path) {
  // Never closed: the driver keeps threads and exit handlers of its own.
  void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* reason = dlerror();
    return make_status(Code::kNoDevice, "cannot load the CUDA driver: ", reason != nullptr ? reason : path.c_str(),
                       "; install the NVIDIA driver, or use CPU tensors with the host backend");
  }
  Driver table;
  for (const Binding& binding : kBindings) {
    void* function = dlsym(library, binding.symbol);
    if (function == nullptr && binding.is_required) {
      return make_status(Code::kNoDevice, path, " has no function ", binding.symbol, "; update to CUDA 12.0 or newer");
    }
    memcpy(reinterpret_cast<char*>(&table) + binding.offset, &function, sizeof function);
  }
  return table;
}

Result<const Driver*> driver() {
  static std::mutex mutex;
  static const Driver* table = nullptr;  // leaked on purpose: calls may come while the program is ending
  std::lock_guard<std::mutex> lock(mutex);
  if (table == nullptr) {
    KAON_ASSIGN_OR_RETURN(Driver opened, open_and_initialise());
    table = new Driver(opened);
  }
  return table;
}

Status to_status(const Driver& driver, CuResult result, const char* what) {
  if (result == kCudaSuccess) return Status::ok();
  const char* name = nullptr;
  if (driver.get_error_name(result, &name) != kCudaSuccess || name == nullptr) name = "unknown error";
  return make_status(code_of(result), what, ": ", name, " (", static_cast<int>(result), ")");
}

}  // namespace kaon::cuda
