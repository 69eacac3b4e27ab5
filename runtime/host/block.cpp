// The scheduler of one block: fibers that switch at barriers and warp operations, in seeded random order when checked.
#include "runtime/host/block.h"

#include <utility>

namespace kaon::host {

namespace {

uint64_t mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

}  // namespace

BlockRunner& BlockRunner::of(KaonSimtThread* self) { return *static_cast<Thread*>(self)->runner; }

void BlockRunner::start_block(const Run& run, uint64_t block) {
  run_ = run;
  shared_.begin_block(run.shared_bytes, run.checked);
  threads_.resize(run.threads);
  ready_.clear();
  for (uint32_t i = run.threads; i-- > 0;) {  // the last is taken first
    Thread& t = threads_[i];
    t.table = &simt_table();
    t.thread = i;
    t.num_threads = run.threads;
    t.block = block;
    t.num_blocks = run.num_blocks;
    t.runner = this;
    t.fiber = nullptr;
    t.state = State::kUnstarted;
    ready_.push_back(&t);
  }
  meetings_.assign(run.threads / kWarp, Meeting{});
  barrier_ = {};
  returned_ = 0;
  random_ = mix(run.seed * 0x9e3779b97f4a7c15ull + block);
  error_.clear();
}

/// Unchecked, the latest to become ready, which keeps a warp together; checked, any.
BlockRunner::Thread* BlockRunner::next_ready() {
  if (ready_.empty()) return nullptr;
  if (run_.checked) {
    random_ += 0x9e3779b97f4a7c15ull;
    const size_t pick = static_cast<size_t>(((mix(random_) >> 32) * ready_.size()) >> 32);
    std::swap(ready_[pick], ready_.back());
  }
  Thread* thread = ready_.back();
  ready_.pop_back();
  return thread;
}

/// Null, with error_ set, when there is no memory for another stack.
Fiber* BlockRunner::idle_fiber() {
  if (idle_.empty()) {
    Result<void*> stack = stacks_.take();
    if (!stack.is_ok()) {
      error_ = stack.status().message();
      return nullptr;
    }
    fibers_.push_back(std::make_unique<Fiber>(*stack, &BlockRunner::fiber_main, this));
    idle_.push_back(fibers_.back().get());
  }
  Fiber* fiber = idle_.back();
  idle_.pop_back();
  return fiber;
}

void BlockRunner::fiber_main(void* argument) {
  BlockRunner& runner = *static_cast<BlockRunner*>(argument);
  for (;;) {
    Thread* thread = runner.starting_;
    Fiber* fiber = thread->fiber;
    thread->state = State::kReady;
    runner.run_.kernel(thread, runner.run_.slots);
    thread->state = State::kReturned;
    ++runner.returned_;
    Thread* next = runner.next_ready();
    if (next != nullptr && next->state == State::kUnstarted) {
      next->fiber = fiber;
      runner.starting_ = next;
      continue;
    }
    if (next != nullptr) runner.ready_.push_back(next);
    runner.finished_ = fiber;
    fiber->suspend();
  }
}

std::string BlockRunner::run_block(const Run& run, uint64_t block) {
  start_block(run, block);
  while (error_.empty()) {
    Thread* thread = next_ready();
    if (thread == nullptr) break;
    if (thread->state == State::kUnstarted) {
      thread->fiber = idle_fiber();
      if (thread->fiber == nullptr) break;
      starting_ = thread;
    }
    finished_ = nullptr;
    thread->fiber->resume();
    if (finished_ != nullptr) idle_.push_back(finished_);
  }
  if (error_.empty() && returned_ != run.threads) error_ = stuck();
  if (!error_.empty()) abandon_fibers();
  return error_;
}

void BlockRunner::barrier(KaonSimtThread* self, uint32_t site) {
  Thread& t = *static_cast<Thread*>(self);
  if (barrier_.arrived == 0) barrier_.site = site;
  if (barrier_.site != site) {
    fail(t, site, "divergent barrier: other threads of the block wait at site " + std::to_string(barrier_.site));
  }
  if (++barrier_.arrived < run_.threads) {
    t.state = State::kAtBarrier;
    t.site = site;
    t.fiber->suspend();
    return;
  }
  barrier_.arrived = 0;
  shared_.barrier();
  for (uint32_t i = run_.threads; i-- > 0;) {
    if (&threads_[i] == &t) continue;
    threads_[i].state = State::kReady;
    ready_.push_back(&threads_[i]);
  }
}

uint32_t BlockRunner::shuffle(KaonSimtThread* self, uint32_t value, uint32_t source_lane, uint32_t site) {
  Thread& t = *static_cast<Thread*>(self);
  Thread* warp = &threads_[t.thread / kWarp * kWarp];
  Meeting& meeting = meetings_[t.thread / kWarp];
  if (meeting.arrived == 0) meeting.site = site;
  if (meeting.site != site) {
    fail(t, site, "divergent shuffle: other lanes of the warp wait at site " + std::to_string(meeting.site));
  }
  t.value = value;
  t.source_lane = source_lane % kWarp;
  if (++meeting.arrived < kWarp) {
    t.state = State::kAtShuffle;
    t.site = site;
    t.fiber->suspend();
    return t.value;
  }
  meeting.arrived = 0;
  exchange(warp);
  for (uint32_t lane = kWarp; lane-- > 0;) {
    if (&warp[lane] == &t) continue;
    warp[lane].state = State::kReady;
    ready_.push_back(&warp[lane]);
  }
  return t.value;
}

void BlockRunner::exchange(Thread* warp) {
  uint32_t offered[kWarp];
  for (uint32_t lane = 0; lane < kWarp; ++lane) offered[lane] = warp[lane].value;
  for (uint32_t lane = 0; lane < kWarp; ++lane) warp[lane].value = offered[warp[lane].source_lane];
}

void BlockRunner::read_shared(KaonSimtThread* self, uint32_t offset, void* destination, uint32_t bytes, uint32_t site) {
  std::string wrong = shared_.read(self->thread, offset, destination, bytes);
  if (!wrong.empty()) fail(*static_cast<Thread*>(self), site, std::move(wrong));
}

void BlockRunner::write_shared(KaonSimtThread* self, uint32_t offset, const void* source, uint32_t bytes,
                               uint32_t site) {
  std::string wrong = shared_.write(self->thread, site, offset, source, bytes);
  if (!wrong.empty()) fail(*static_cast<Thread*>(self), site, std::move(wrong));
}

void BlockRunner::trap(KaonSimtThread* self, uint32_t site) {
  fail(*static_cast<Thread*>(self), site, "trap: a check of the kernel itself failed");
}

void BlockRunner::fail_check(KaonSimtThread* self, const char* message) { fail(*static_cast<Thread*>(self), 0, message); }

/// Nobody can run and not everybody returned: names one that waits and one that keeps it waiting.
std::string BlockRunner::stuck() const {
  for (const Thread& waiting : threads_) {
    if (waiting.state != State::kAtBarrier && waiting.state != State::kAtShuffle) continue;
    const bool at_shuffle = waiting.state == State::kAtShuffle;
    const uint32_t first = at_shuffle ? waiting.thread / kWarp * kWarp : 0;
    const uint32_t count = at_shuffle ? kWarp : run_.threads;
    for (uint32_t i = first; i < first + count; ++i) {
      const Thread& other = threads_[i];
      if (other.state == waiting.state) continue;
      std::string why = "thread " + std::to_string(i);
      if (other.state == State::kReturned) why += " returned";
      if (other.state == State::kAtBarrier) why += " waits at a barrier, site " + std::to_string(other.site);
      if (other.state == State::kAtShuffle) why += " waits at a shuffle, site " + std::to_string(other.site);
      return "thread " + std::to_string(waiting.thread) + ", site " + std::to_string(waiting.site) + ": divergent " +
             (at_shuffle ? "shuffle: " : "barrier: ") + why;
    }
  }
  return "no thread can run";
}

void BlockRunner::fail(Thread& thread, uint32_t site, std::string&& what) {
  {
    const std::string text = std::move(what);  // this stack is abandoned: what it still owned would leak
    const std::string where = site == 0 ? "" : ", site " + std::to_string(site);
    error_ = "thread " + std::to_string(thread.thread) + where + ": " + text;
  }
  thread.fiber->suspend();  // run_block() sees the error and never comes back here
  __builtin_unreachable();
}

void BlockRunner::abandon_fibers() {
  idle_.clear();
  for (const std::unique_ptr<Fiber>& fiber : fibers_) {
    fiber->abandon();
    idle_.push_back(fiber.get());
  }
}

}  // namespace kaon::host
