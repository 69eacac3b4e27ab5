// Launches as ranges in the timeline of a profiler (NVTX), in the domain `kaon`; off until the program or the
// environment asks for them.
#pragma once

#include <atomic>
#include <cstdint>

namespace kaon {

namespace detail {
extern std::atomic<bool> is_ranging;

/// Begins a range called `name` with `variant` as its payload, on the calling thread. `name` outlives the process;
/// `*registered` keeps what the profiler knows it by.
void push_range(const char* name, int variant, std::atomic<void*>* registered) noexcept;
void pop_range() noexcept;
}  // namespace detail

/// Whether launches are to be ranges: one load on the path of every call.
inline bool is_ranging() { return detail::is_ranging.load(std::memory_order_acquire); }

/// Does what KAON_NVTX=1 asks for, once per process; without a profiler that is a line of the log. Must not be called
/// under a lock.
void start_ranges_from_environment();

/// The range of one launch, if there are to be ranges and there is something to launch.
class LaunchRange {
 public:
  LaunchRange(const char* name, int variant, int64_t programs, std::atomic<void*>* registered)
      : is_open_(is_ranging() && programs > 0) {
    if (__builtin_expect(is_open_, 0)) detail::push_range(name, variant, registered);
  }
  LaunchRange(const LaunchRange&) = delete;
  LaunchRange& operator=(const LaunchRange&) = delete;
  ~LaunchRange() {
    if (__builtin_expect(is_open_, 0)) detail::pop_range();
  }

 private:
  const bool is_open_;  // a range that was begun is ended, whatever was switched meanwhile
};

}  // namespace kaon
