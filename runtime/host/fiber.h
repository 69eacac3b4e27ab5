// One switchable thread of execution on a pooled stack: how a thread of a block can wait in the middle of a kernel.
//
// A fiber belongs to the OS thread that resumes it. It is abandoned rather than unwound: a kernel's frames own
// nothing, and images carry no unwind tables.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::host {

/// Address space for the stacks of many fibers, each above a guard page, so that an overflow faults instead of
/// corrupting a neighbour.
class StackPool {
 public:
  static constexpr size_t kStackBytes = 128 * 1024;  // address space; only touched pages cost memory

  StackPool() = default;
  StackPool(const StackPool&) = delete;
  StackPool& operator=(const StackPool&) = delete;
  ~StackPool();

  /// Highest address of a fresh stack. kOutOfMemory.
  Result<void*> take();

 private:
  static constexpr size_t kStacksPerChunk = 32;
  std::vector<void*> chunks_;
  size_t used_in_last_ = kStacksPerChunk;
};

class Fiber {
 public:
  using Entry = void (*)(void* argument);

  /// `entry` starts on the first resume() and must never return. `stack_top` is from a StackPool that outlives the
  /// fiber.
  Fiber(void* stack_top, Entry entry, void* argument);
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;
  ~Fiber();

  /// Runs the fiber until it calls suspend(). Never on a fiber.
  void resume();
  /// On this fiber only: back to the caller of resume(); returns at the next resume().
  void suspend();
  /// Forgets what the suspended fiber was doing; its next resume() starts `entry` anew.
  void abandon();

 private:
  struct Switch;

  void* const stack_top_;
  const Entry entry_;
  void* const argument_;
  void* context_ = nullptr;         // where the fiber continues; null before its start
  void* caller_context_ = nullptr;  // where resume() was called
  // What the sanitizers need to follow a switch; unused without them.
  void* caller_stack_ = nullptr;
  size_t caller_stack_bytes_ = 0;
  void* fake_stack_ = nullptr;
  void* tsan_fiber_ = nullptr;
  void* tsan_caller_ = nullptr;
};

}  // namespace kaon::host
