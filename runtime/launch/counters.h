// Calls counted by kernel and match: each thread writes its own counters, which are added up when somebody asks.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "runtime/base/status.h"
#include "runtime/launch/match.h"

namespace kaon {

namespace detail {

struct ThreadCounts {
  size_t num_cells;              // kNumMatches for each kernel; 0 until the thread's first call
  std::atomic<uint64_t>* cells;  // written by its thread alone
};

// Plain data in the static block of thread storage: an access is one instruction and calls nothing.
extern __thread ThreadCounts thread_counts __attribute__((tls_model("initial-exec")));

bool count_in_new_cell(size_t cell) noexcept;

}  // namespace detail

/// Counts one call of the kernel with that KernelEntry::id(). Writes nothing shared; allocates and locks when the
/// thread counts for the first time, or a kernel beyond those that it knew. True for the first of its kind on this
/// thread.
inline bool count_call(uint32_t kernel, Match match) noexcept {
  const size_t cell = size_t{kernel} * kNumMatches + static_cast<size_t>(match);
  detail::ThreadCounts& mine = detail::thread_counts;
  if (cell >= mine.num_cells) return detail::count_in_new_cell(cell);
  const uint64_t before = mine.cells[cell].load(std::memory_order_relaxed);
  mine.cells[cell].store(before + 1, std::memory_order_relaxed);
  return before == 0;
}

/// The calls of one kernel on all threads, those that have ended as well, since the last reset.
CallCounts read_counts(uint32_t kernel);
/// Counts from zero again. Calls that run meanwhile are counted before or after it.
void reset_counts(uint32_t kernel);

/// Counts one call that gave `code` instead of being served.
void count_error(Code code) noexcept;
uint64_t read_errors(Code code);

}  // namespace kaon
