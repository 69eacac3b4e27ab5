// What the launch path asks of a kind of device: the interface that the CUDA driver and the host machine implement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "runtime/base/status.h"
#include "runtime/launch/pack_format.h"

namespace kaon {

/// What choosing a variant needs to know of a device. Constant for the life of the process.
struct DeviceFacts {
  std::string hardware;              // "sm90" or "host"; the key of tables
  std::string name;                  // for people: "NVIDIA H200"
  int device = 0;                    // ordinal
  int sm = 0;                        // 90: major * 10 + minor; 0 for host
  uint32_t num_sms = 1;              // processors that run blocks
  uint32_t max_shared_bytes = 0;     // dynamic shared memory that one block may ask for
  uint32_t registers_per_block = 0;  // 0: no limit
  uint32_t max_threads = 1024;       // per block
};

/// Compiled code as it lies in a pack; the bytes outlive the process's use of them.
struct ImageBytes {
  ImageKind kind = ImageKind::kCubin;
  const void* data = nullptr;  // 64-byte aligned
  size_t bytes = 0;
};

/// One launch of a flat grid.
struct LaunchDims {
  uint64_t programs = 0;      // blocks, at least 1
  uint32_t threads = 0;       // per block
  uint32_t shared_bytes = 0;  // dynamic, per block
  uint32_t cluster = 1;       // blocks per cluster
};

/// All calls are thread-safe. Handles are opaque, never null on success, and stay valid until unload_image().
/// current_context(), launch() and zero() are on the path of every call: they neither allocate nor lock on success.
class Backend {
 public:
  virtual ~Backend() = default;

  /// "cuda", "host".
  virtual const char* name() const = 0;

  /// kNoDevice when there is no such device, saying what is missing.
  virtual Result<DeviceFacts> device_facts(int device) = 0;

  /// The context in which a call on tensors of `device` runs now, as a key for caches of function handles: two contexts
  /// never have the same one, not even one after the other.
  virtual Status current_context(int device, uint64_t* context) = 0;

  /// Asked once per context and device, before anything is cached for them: kInvalidArgument when the calling thread's
  /// context belongs to another device.
  virtual Status check_context(int device) {
    (void)device;
    return Status::ok();
  }

  /// Makes an image known to the process. `what` names it in messages: "softmax f16 sm_90".
  virtual Result<void*> load_image(const ImageBytes& image, const std::string& what) = 0;

  /// Ends an image that load_image() made, and its functions.
  virtual Status unload_image(void* image) = 0;

  /// The entry point `symbol`, fully loaded in the calling thread's context of `device` and allowed `shared_bytes`
  /// of dynamic shared memory. kNotFound when the image has no such symbol.
  virtual Result<void*> load_function(void* image, const char* symbol, int device, uint32_t shared_bytes) = 0;

  /// Runs `function` with the row of slots as its arguments, after earlier work on `stream`. The slots are copied
  /// before it returns. Asynchronous on CUDA; done on return on host.
  virtual Status launch(void* function, const LaunchDims& dims, const int64_t* slots, int num_slots, void* stream) = 0;

  /// Clears `bytes` bytes, ordered like launch().
  virtual Status zero(void* pointer, size_t bytes, void* stream) = 0;

  /// Whether work sent to `stream` now is being captured into a graph.
  virtual Result<bool> is_capturing(void* stream) = 0;
};

/// The backend that serves CPU tensors; null until one was installed.
Backend* host_backend();

/// Makes `backend` serve CPU tensors from now on; it must live as long as the program. kaon::host::install() calls it.
void install_host_backend(Backend* backend);

}  // namespace kaon
