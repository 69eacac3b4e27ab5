// Which shapes a program calls kernels with: counts per kernel, dtypes and dims, appended to a file for aot_runner.
#pragma once

#include <atomic>
#include <cstdint>

#include "runtime/base/signature.h"

namespace kaon {

namespace detail {
extern std::atomic<bool> is_recording;
}  // namespace detail

/// Whether calls are to be recorded: one load on the path of every call.
inline bool is_recording() { return detail::is_recording.load(std::memory_order_relaxed); }

/// Starts what KAON_RECORD asks for, once per process. A file that cannot be written is a line of the log, not an error
/// of the call. Must not be called under a lock.
void start_recording_from_environment();

/// Counts one call. Takes a lock and may allocate; does nothing when memory runs out.
void record_call(const Signature& signature, const int64_t* slots) noexcept;

}  // namespace kaon
