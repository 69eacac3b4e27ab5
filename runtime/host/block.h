// Runs the threads of one block at a time: who runs next, who waits where, and what of it is an error.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/host/fiber.h"
#include "runtime/host/shared_memory.h"
#include "runtime/host/simt_abi.h"

namespace kaon::host {

using KernelFunction = void (*)(KaonSimtThread* self, const int64_t* slots);

/// What every block of a run shares.
struct Run {
  KernelFunction kernel = nullptr;
  const int64_t* slots = nullptr;
  uint64_t num_blocks = 0;
  uint32_t threads = 0;  // per block, a multiple of 32
  uint32_t shared_bytes = 0;
  bool checked = false;
  uint64_t seed = 0;
};

/// The function table that kernels are given.
const KaonSimtTable& simt_table();

/// One OS thread's machinery; not to be shared between OS threads. A thread of the block gets a fiber only when it
/// starts, and a fiber whose thread returned without ever waiting starts the next thread itself: a kernel without
/// barriers costs one fiber and no switches.
class BlockRunner {
 public:
  BlockRunner() = default;
  BlockRunner(const BlockRunner&) = delete;
  BlockRunner& operator=(const BlockRunner&) = delete;

  /// Runs block `block` to its end. Empty, or "thread 3, site 5: ..." for the first thing that went wrong; the rest of
  /// the block is then not run. The same run and block give the same answer.
  std::string run_block(const Run& run, uint64_t block);

  // Called by the table's functions, on a fiber.
  void barrier(KaonSimtThread* self, uint32_t site);
  uint32_t shuffle(KaonSimtThread* self, uint32_t value, uint32_t source_lane, uint32_t site);
  void read_shared(KaonSimtThread* self, uint32_t offset, void* destination, uint32_t bytes, uint32_t site);
  void write_shared(KaonSimtThread* self, uint32_t offset, const void* source, uint32_t bytes, uint32_t site);
  [[noreturn]] void trap(KaonSimtThread* self, uint32_t site);
  [[noreturn]] void fail_check(KaonSimtThread* self, const char* message);
  static BlockRunner& of(KaonSimtThread* self);

 private:
  static constexpr uint32_t kWarp = 32;
  enum class State : uint8_t { kUnstarted, kReady, kAtBarrier, kAtShuffle, kReturned };
  struct Thread : KaonSimtThread {
    BlockRunner* runner = nullptr;
    Fiber* fiber = nullptr;
    State state = State::kUnstarted;
    uint32_t site = 0;   // where it waits
    uint32_t value = 0;  // offered to, then received from, a shuffle
    uint32_t source_lane = 0;
  };

  /// Threads that wait for each other.
  struct Meeting {
    uint32_t arrived = 0;
    uint32_t site = 0;  // of those that arrived
  };

  static void fiber_main(void* runner);
  void start_block(const Run& run, uint64_t block);
  Thread* next_ready();
  Fiber* idle_fiber();
  void exchange(Thread* warp);
  std::string stuck() const;
  [[noreturn]] void fail(Thread& thread, uint32_t site, std::string&& what);
  void abandon_fibers();

  Run run_;
  SharedMemory shared_;
  StackPool stacks_;
  std::vector<std::unique_ptr<Fiber>> fibers_;
  std::vector<Fiber*> idle_;
  std::vector<Thread> threads_;
  std::vector<Thread*> ready_;
  std::vector<Meeting> meetings_;  // shuffles, per warp
  Meeting barrier_;
  uint32_t returned_ = 0;
  uint64_t random_ = 0;
  Thread* starting_ = nullptr;  // the thread that the fiber just resumed is to start
  Fiber* finished_ = nullptr;   // the fiber that has no thread any more
  std::string error_;
};

}  // namespace kaon::host
