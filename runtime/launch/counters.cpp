// How the threads' counters are found, added up and reset.
#include "runtime/launch/counters.h"

#include <pthread.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

namespace kaon {

namespace detail {
__thread ThreadCounts thread_counts = {0, nullptr};
}  // namespace detail

namespace {

using detail::thread_counts;
using detail::ThreadCounts;

constexpr int kNumCodes = static_cast<int>(Code::kInternal) + 1;
constexpr size_t kFirstCells = 16 * kNumMatches;

struct Totals {
  std::mutex mutex;  // of all below, and of where the threads' cells lie (not of the cells)
  std::vector<ThreadCounts*> threads;
  std::vector<uint64_t> retired;   // of threads that have ended
  std::vector<uint64_t> baseline;  // what a reset subtracts from then on
  pthread_key_t key = 0;           // its destructor runs when a thread ends
};

std::atomic<uint64_t> errors[kNumCodes];

void retire_thread(void*);
void lock_totals();
void unlock_totals();
void restart_totals();

Totals& totals() {
  // Leaked on purpose: calls may come from threads that outlive static destruction.
  static Totals* const instance = [] {
    auto* made = new Totals;
    pthread_key_create(&made->key, retire_thread);
    pthread_atfork(lock_totals, unlock_totals, restart_totals);
    return made;
  }();
  return *instance;
}

void add_to(std::vector<uint64_t>* sums, const ThreadCounts& counts) {
  if (sums->size() < counts.num_cells) sums->resize(counts.num_cells);
  for (size_t i = 0; i < counts.num_cells; ++i) (*sums)[i] += counts.cells[i].load(std::memory_order_relaxed);
}

void retire_thread(void*) {
  Totals& t = totals();
  std::lock_guard<std::mutex> lock(t.mutex);
  // `retired` has room for every cell of a thread since count_in_new_cell() made it: nothing is allocated here.
  add_to(&t.retired, thread_counts);
  t.threads.erase(std::find(t.threads.begin(), t.threads.end(), &thread_counts));
  delete[] thread_counts.cells;
  thread_counts = {0, nullptr};
}

void lock_totals() { totals().mutex.lock(); }
void unlock_totals() { totals().mutex.unlock(); }

// A child counts its own calls. The other threads' storage is about to be given to new threads.
void restart_totals() {
  Totals& t = totals();
  t.threads.clear();
  if (thread_counts.num_cells > 0) t.threads.push_back(&thread_counts);
  for (size_t i = 0; i < thread_counts.num_cells; ++i) thread_counts.cells[i].store(0, std::memory_order_relaxed);
  std::fill(t.retired.begin(), t.retired.end(), 0);
  std::fill(t.baseline.begin(), t.baseline.end(), 0);
  for (std::atomic<uint64_t>& count : errors) count.store(0, std::memory_order_relaxed);
  t.mutex.unlock();
}

uint64_t value_at(const std::vector<uint64_t>& values, size_t i) { return i < values.size() ? values[i] : 0; }

// Since the beginning. Needs the lock.
uint64_t sum_of(const Totals& t, size_t cell) {
  uint64_t sum = value_at(t.retired, cell);
  for (const ThreadCounts* thread : t.threads) {
    if (cell < thread->num_cells) sum += thread->cells[cell].load(std::memory_order_relaxed);
  }
  return sum;
}

// Gives the calling thread room for `cell` among its counters.
void grow_to(size_t cell) {
  Totals& t = totals();
  const size_t wanted = std::max({kFirstCells, cell + 1, 2 * thread_counts.num_cells});
  auto* cells = new std::atomic<uint64_t>[wanted]();
  std::lock_guard<std::mutex> lock(t.mutex);
  if (t.retired.size() < wanted) t.retired.resize(wanted);
  if (thread_counts.num_cells == 0) {
    t.threads.push_back(&thread_counts);
    pthread_setspecific(t.key, &thread_counts);
  }
  for (size_t i = 0; i < thread_counts.num_cells; ++i) {
    cells[i].store(thread_counts.cells[i].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  delete[] thread_counts.cells;
  thread_counts = {wanted, cells};
}

}  // namespace

bool detail::count_in_new_cell(size_t cell) noexcept {
  try {
    grow_to(cell);
  } catch (const std::bad_alloc&) {
    return false;  // a call is worth more than its count
  }
  thread_counts.cells[cell].store(1, std::memory_order_relaxed);
  return true;
}

CallCounts read_counts(uint32_t kernel) {
  Totals& t = totals();
  std::lock_guard<std::mutex> lock(t.mutex);
  CallCounts counts;
  for (int match = 0; match < kNumMatches; ++match) {
    const size_t cell = size_t{kernel} * kNumMatches + static_cast<size_t>(match);
    counts.by_match[match] = sum_of(t, cell) - value_at(t.baseline, cell);
  }
  return counts;
}

void reset_counts(uint32_t kernel) {
  Totals& t = totals();
  std::lock_guard<std::mutex> lock(t.mutex);
  const size_t first = size_t{kernel} * kNumMatches;
  if (t.baseline.size() < first + kNumMatches) t.baseline.resize(first + kNumMatches);
  for (size_t cell = first; cell < first + kNumMatches; ++cell) t.baseline[cell] = sum_of(t, cell);
}

void count_error(Code code) noexcept { errors[static_cast<int>(code)].fetch_add(1, std::memory_order_relaxed); }

uint64_t read_errors(Code code) { return errors[static_cast<int>(code)].load(std::memory_order_relaxed); }

}  // namespace kaon
