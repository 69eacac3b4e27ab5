// Runs a host kernel over its grid: the CPU's stand-in for a launch.
#pragma once

#include <cstdint>
#include <memory>

#include "runtime/base/status.h"
#include "runtime/host/block.h"

namespace kaon::host {

struct Grid {
  uint64_t blocks = 0;
  uint32_t threads = 0;       // per block, a multiple of 32, at most 1024
  uint32_t shared_bytes = 0;  // dynamic shared memory per block, at most kMaxSharedBytes
};

constexpr uint32_t kMaxThreads = 1024;
constexpr uint32_t kMaxSharedBytes = 232448;  // as much as the largest GPU gives

struct RunOptions {
  /// Random order of threads and shadow bytes for shared memory. Off for timing: then only accesses outside shared
  /// memory, divergence that blocks for ever and traps are found.
  bool checked = true;
  uint64_t seed = 1;
};

/// A machine owns its OS threads, fibers and stacks, and reuses them from run to run.
class Machine {
 public:
  /// `os_threads` 0: one per processor that this process may use.
  explicit Machine(int os_threads = 0);
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;
  ~Machine();

  int os_threads() const;

  /// Runs `kernel` to its end. Blocks spread over the OS threads; runs on one machine take turns. `slots` is the row
  /// that signature.h describes. Data races in global memory are not looked for.
  /// kInvalidArgument for an impossible grid; kOutOfMemory; kInternal when the kernel breaks a rule of the machine:
  /// "block 3, thread 17, site 4: ..." for the lowest such block, which is the same for the same seed.
  Status run(KernelFunction kernel, const Grid& grid, const int64_t* slots, const RunOptions& options);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// The machine of this process, made on first use.
Machine& shared_machine();

}  // namespace kaon::host
