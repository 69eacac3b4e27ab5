// Calling a kernel: find, check, choose, launch. The C++ face of the runtime.
#pragma once

#include <initializer_list>
#include <string>

#include "runtime/base/status.h"
#include "runtime/launch/kernel_table.h"
#include "runtime/launch/match.h"
#include "runtime/launch/tensor.h"

namespace kaon {

class KernelEntry;

/// A kernel of this process by name. Cheap to copy, valid for the life of the program, safe to use from any thread.
class Kernel {
 public:
  /// Registers `lists` (generated tables) for `name`. Never fails here: an unusable table is reported by the calls.
  Kernel(const char* name, std::initializer_list<const KernelTableList*> lists);

  /// A kernel whose tables or packs were registered or loaded before, or lie in $KAON_HEURISTIC_DIR. kNotFound.
  static Result<Kernel> find(const std::string& name);

  const std::string& name() const;

  /// The same kernel as an opaque pointer for other languages, and back. Never null, never freed.
  const void* handle() const { return entry_; }
  static Kernel from_handle(const void* handle) { return Kernel(static_cast<KernelEntry*>(const_cast<void*>(handle))); }

  /// Runs the kernel on `stream` (a CUstream, or null for the default stream; ignored for CPU tensors).
  ///
  /// `tensors` are the signature's tensors, inputs then outputs, all on one device; `scalars` its scalars. Asynchronous
  /// on CUDA: returning ok means that the work was queued behind what the stream held; the tensors' memory must live
  /// until it ran. CPU tensors are done on return. An output may not overlap an input or another output unless the
  /// signature declares it an alias, and then it must be exactly that input. A grid of size 0 launches nothing.
  /// The calling thread's CUDA context is used; where there is none, the device's primary context becomes current.
  ///
  /// Allocates and locks only until the variant that serves the call was used once in this context (or was preloaded).
  ///
  /// While calls are recorded (control.h) each takes a lock and may allocate.
  ///
  /// kInvalidArgument: rank, dtype, extents, strides, device, `require` clauses, overlap.  kNotFound: no tables.
  /// kUnsupported: no image runs here, a grid beyond 2^31 - 1, no host backend.  kNoDevice: no driver or GPU.
  /// kNotPreloaded: first use inside a stream capture.  kCorrupt, kStale: a pack is unusable.  kDriver: the launch.
  Status call(void* stream, const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars = nullptr,
              int num_scalars = 0, CallInfo* info = nullptr) const {
    return run(stream, tensors, num_tensors, scalars, num_scalars, info, Action::kLaunch);
  }

  /// The same with a variant that the program chose: the one whose config has this fingerprint, as CallInfo, explain
  /// and config_fingerprint() give it. Served calls are `forced`.
  ///
  /// As call(); kNotFound when the table that serves these dtypes on this device has no such variant, kUnsupported when
  /// the device cannot run it, kInvalidArgument when its guards refuse the call.
  Status call_variant(uint64_t fingerprint, void* stream, const TensorView* const* tensors, int num_tensors,
                      const ScalarValue* scalars = nullptr, int num_scalars = 0, CallInfo* info = nullptr) const {
    return run(stream, tensors, num_tensors, scalars, num_scalars, info, Action::kLaunchVariant, fingerprint);
  }

  /// Checks a call and says what would serve it, without loading or launching anything.
  Status query(const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars, int num_scalars,
               CallInfo* info) const {
    return run(nullptr, tensors, num_tensors, scalars, num_scalars, info, Action::kQuery);
  }

  /// Why a call gets its variant: the table, the path through its tree, the guards tried, the variant with its
  /// evidence, the nearest measured shapes, and what other chips would do. `sm` (120 for sm_120) asks for a chip that
  /// need not be here, without touching a driver; 0 for the tensors' own device. Nothing is loaded. Errors as query();
  /// kNotFound for a chip that is not known.
  Result<std::string> explain(const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars = nullptr,
                              int num_scalars = 0, int sm = 0) const;

  /// Loads everything that calls on `device` can reach, in the calling thread's context, for all dtypes: afterwards
  /// every call may be captured into a graph. Blocks. Errors as call().
  Status preload(Device device) const;

  /// How many calls were served in each way since the last reset, on all threads; empty grids are not counted. Each
  /// thread counts for itself, so calls that run meanwhile may be missing.
  CallCounts counts() const;
  void reset_counts() const;

 private:
  enum class Action : uint8_t { kLaunch, kLaunchVariant, kQuery };
  explicit Kernel(KernelEntry* entry) : entry_(entry) {}
  Status run(void* stream, const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars,
             int num_scalars, CallInfo* info, Action action, uint64_t fingerprint = 0) const;
  Status serve(void* stream, const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars,
               int num_scalars, CallInfo* info, Action action, uint64_t fingerprint) const;

  KernelEntry* entry_;
};

}  // namespace kaon
