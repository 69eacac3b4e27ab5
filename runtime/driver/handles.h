// Owners of driver objects: each releases in its destructor what its create() made. Errors while releasing are dropped,
// because after a fault on the device every call fails and there is nothing left to save.
#pragma once

#include <cstddef>
#include <utility>

#include "runtime/base/status.h"
#include "runtime/driver/driver.h"

namespace kaon::cuda {

/// Makes a context current for a scope and restores the caller's afterwards.
class ContextGuard {
 public:
  static Result<ContextGuard> enter(const Driver& driver, CuContext context);
  ContextGuard(ContextGuard&& other) noexcept : driver_(std::exchange(other.driver_, nullptr)), saved_(other.saved_) {}
  ContextGuard(const ContextGuard&) = delete;
  ContextGuard& operator=(ContextGuard&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(saved_, other.saved_);
    return *this;
  }
  ~ContextGuard();

 private:
  ContextGuard(const Driver* driver, CuContext saved) : driver_(driver), saved_(saved) {}
  const Driver* driver_;
  CuContext saved_;
};

/// Lets this thread make calls that are forbidden while any stream of the process is being captured (loading code is
/// one) without breaking that capture.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const Driver& driver) : driver_(driver) {
    is_exchanged_ = driver_.thread_exchange_stream_capture_mode(&mode_) == kCudaSuccess;
  }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;
  ~RelaxedCapture() {
    // Tried again once: a thread left in relaxed mode would break captures that it does not mean to.
    if (is_exchanged_ && driver_.thread_exchange_stream_capture_mode(&mode_) != kCudaSuccess) {
      driver_.thread_exchange_stream_capture_mode(&mode_);
    }
  }

 private:
  const Driver& driver_;
  CuCaptureMode mode_ = kCaptureRelaxed;
  bool is_exchanged_ = false;
};

/// A move-only owner of `Handle`; Traits::release(driver, handle) ends it.
template <typename Handle, typename Traits>
class Owned {
 public:
  Owned() = default;
  Owned(const Driver& driver, Handle handle) : driver_(&driver), handle_(handle) {}
  Owned(Owned&& other) noexcept : driver_(other.driver_), handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(handle_, other.handle_);
    return *this;
  }
  Owned(const Owned&) = delete;
  ~Owned() {
    if (handle_ != Handle{}) Traits::release(*driver_, handle_);
  }

  Handle get() const { return handle_; }
  explicit operator bool() const { return handle_ != Handle{}; }
  /// Gives up ownership.
  Handle release() { return std::exchange(handle_, Handle{}); }

 private:
  const Driver* driver_ = nullptr;
  Handle handle_{};
};

struct LibraryTraits {
  static void release(const Driver& d, CuLibrary h) { d.library_unload(h); }
};
struct StreamTraits {
  static void release(const Driver& d, CuStream h) { d.stream_destroy(h); }
};
struct EventTraits {
  static void release(const Driver& d, CuEvent h) { d.event_destroy(h); }
};
struct GraphTraits {
  static void release(const Driver& d, CuGraph h) { d.graph_destroy(h); }
};
struct GraphExecTraits {
  static void release(const Driver& d, CuGraphExec h) { d.graph_exec_destroy(h); }
};
struct DeviceMemoryTraits {
  static void release(const Driver& d, CuDevicePtr h) { d.mem_free(h); }
};
struct PinnedMemoryTraits {
  static void release(const Driver& d, void* h) { d.mem_free_host(h); }
};

using Library = Owned<CuLibrary, LibraryTraits>;
using Stream = Owned<CuStream, StreamTraits>;
using Event = Owned<CuEvent, EventTraits>;
using Graph = Owned<CuGraph, GraphTraits>;
using GraphExec = Owned<CuGraphExec, GraphExecTraits>;
using DeviceMemory = Owned<CuDevicePtr, DeviceMemoryTraits>;
using PinnedMemory = Owned<void*, PinnedMemoryTraits>;

/// Retains the primary context of a device until destroyed.
class PrimaryContext {
 public:
  static Result<PrimaryContext> retain(const Driver& driver, CuDevice device);
  PrimaryContext(PrimaryContext&& other) noexcept
      : driver_(other.driver_), device_(other.device_), context_(std::exchange(other.context_, nullptr)) {}
  PrimaryContext& operator=(PrimaryContext&& other) noexcept {
    std::swap(driver_, other.driver_);
    std::swap(device_, other.device_);
    std::swap(context_, other.context_);
    return *this;
  }
  PrimaryContext(const PrimaryContext&) = delete;
  ~PrimaryContext() {
    if (context_ != nullptr) driver_->device_primary_ctx_release(device_);
  }
  CuContext get() const { return context_; }

 private:
  PrimaryContext(const Driver* driver, CuDevice device, CuContext context)
      : driver_(driver), device_(device), context_(context) {}
  const Driver* driver_;
  CuDevice device_;
  CuContext context_;
};

/// Loads a cubin, fatbin or zero-terminated PTX; nothing on the device yet. The bytes must outlive the library.
Result<Library> load_library(const Driver& driver, const void* image);
/// The function `symbol` in the current context, fully loaded, allowed `shared_bytes` of dynamic shared memory.
Result<CuFunction> load_function(const Driver& driver, CuLibrary library, const char* symbol, uint32_t shared_bytes);
Result<Stream> create_stream(const Driver& driver, CuStreamFlags flags = kStreamNonBlocking);
Result<Event> create_event(const Driver& driver, CuEventFlags flags = kEventDefault);
Result<DeviceMemory> allocate_device(const Driver& driver, size_t bytes);
Result<PinnedMemory> allocate_pinned(const Driver& driver, size_t bytes);
/// Ends the capture begun on `stream` and makes it launchable.
Result<GraphExec> end_capture(const Driver& driver, CuStream stream);

}  // namespace kaon::cuda
