// Blocks over OS threads: helpers sleep between runs, the caller of run() works too.
#include "runtime/host/machine.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace kaon::host {

namespace {

int usable_processors() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) return std::max(1, CPU_COUNT(&set));
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace

struct Machine::State {
  int num_threads = 1;
  std::mutex run_mutex;  // one run at a time
  std::vector<std::unique_ptr<BlockRunner>> runners;
  std::vector<std::thread> helpers;

  std::mutex mutex;  // guards what follows up to the atomics
  std::condition_variable wake;
  std::condition_variable finished;
  uint64_t generation = 0;
  int wanted = 0;   // helpers that take part in the current run
  int working = 0;  // of those, not yet finished
  bool stop = false;
  Run run;
  uint64_t error_block = UINT64_MAX;
  std::string error;

  std::atomic<uint64_t> next_block{0};
  std::atomic<bool> failed{false};

  void work(BlockRunner& runner);
  void help(int index);
  void start_helpers(int count);
};

/// Blocks are handed out in order, so every block below a failing one is run, and the lowest failure is always found.
void Machine::State::work(BlockRunner& runner) {
  while (!failed.load(std::memory_order_relaxed)) {
    const uint64_t block = next_block.fetch_add(1, std::memory_order_relaxed);
    if (block >= run.num_blocks) return;
    std::string wrong = runner.run_block(run, block);
    if (wrong.empty()) continue;
    std::lock_guard<std::mutex> lock(mutex);
    failed.store(true, std::memory_order_relaxed);
    if (block < error_block) {
      error_block = block;
      error = std::move(wrong);
    }
  }
}

void Machine::State::help(int index) {
  uint64_t seen = 0;
  std::unique_lock<std::mutex> lock(mutex);
  for (;;) {
    wake.wait(lock, [&] { return stop || generation != seen; });
    if (stop) return;
    seen = generation;
    if (index > wanted) continue;
    lock.unlock();
    work(*runners[static_cast<size_t>(index)]);
    lock.lock();
    if (--working == 0) finished.notify_one();
  }
}

void Machine::State::start_helpers(int count) {
  while (static_cast<int>(helpers.size()) < count) {
    const int index = static_cast<int>(helpers.size()) + 1;
    helpers.emplace_back([this, index] { help(index); });
  }
}

Machine::Machine(int os_threads) : state_(std::make_unique<State>()) {
  state_->num_threads = os_threads > 0 ? os_threads : usable_processors();
  for (int i = 0; i < state_->num_threads; ++i) state_->runners.push_back(std::make_unique<BlockRunner>());
}

Machine::~Machine() {
  {
    std::lock_guard<std::mutex> lock(state_->mutex);
    state_->stop = true;
  }
  state_->wake.notify_all();
  for (std::thread& helper : state_->helpers) helper.join();
}

int Machine::os_threads() const { return state_->num_threads; }

Status Machine::run(KernelFunction kernel, const Grid& grid, const int64_t* slots, const RunOptions& options) {
  if (kernel == nullptr || slots == nullptr)
    return Status(Code::kInvalidArgument, "host run: kernel or slots are null");
  if (grid.threads == 0 || grid.threads % 32 != 0 || grid.threads > kMaxThreads) {
    return Status(Code::kInvalidArgument, "host run: " + std::to_string(grid.threads) +
                                              " threads a block, expected a multiple of 32 up to " +
                                              std::to_string(kMaxThreads));
  }
  if (grid.shared_bytes > kMaxSharedBytes) {
    return Status(Code::kInvalidArgument, "host run: " + std::to_string(grid.shared_bytes) +
                                              " bytes of shared memory, at most " + std::to_string(kMaxSharedBytes));
  }
  if (grid.blocks == 0) return Status::ok();
  State& s = *state_;
  std::lock_guard<std::mutex> turn(s.run_mutex);
  const int helpers = static_cast<int>(std::min<uint64_t>(grid.blocks, static_cast<uint64_t>(s.num_threads))) - 1;
  s.start_helpers(helpers);
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    s.run = {kernel, slots, grid.blocks, grid.threads, grid.shared_bytes, options.checked, options.seed};
    s.error_block = UINT64_MAX;
    s.error.clear();
    s.next_block.store(0, std::memory_order_relaxed);
    s.failed.store(false, std::memory_order_relaxed);
    s.wanted = helpers;
    s.working = helpers;
    ++s.generation;
  }
  if (helpers > 0) s.wake.notify_all();
  s.work(*s.runners[0]);
  std::unique_lock<std::mutex> lock(s.mutex);
  s.finished.wait(lock, [&] { return s.working == 0; });
  if (s.error_block == UINT64_MAX) return Status::ok();
  return Status(Code::kInternal, "block " + std::to_string(s.error_block) + ", " + s.error);
}

namespace {

// Never destroyed: calls may run while the program is ending.
struct SharedMachine {
  Machine machine;
  SharedMachine* of_parent = nullptr;  // a child has none of the helpers that its parent's machine would wait for
};
std::atomic<SharedMachine*> the_machine{nullptr};
SharedMachine* left_by_parents = nullptr;

void after_fork_in_child() {
  SharedMachine* const left = the_machine.exchange(nullptr, std::memory_order_relaxed);
  if (left == nullptr) return;
  left->of_parent = left_by_parents;
  left_by_parents = left;
}

}  // namespace

Machine& shared_machine() {
  SharedMachine* shared = the_machine.load(std::memory_order_acquire);
  if (shared != nullptr) return shared->machine;
  static const int registered = pthread_atfork(nullptr, nullptr, after_fork_in_child);
  (void)registered;
  auto made = std::make_unique<SharedMachine>();
  // The first of several threads wins.
  return the_machine.compare_exchange_strong(shared, made.get()) ? made.release()->machine : shared->machine;
}

}  // namespace kaon::host
