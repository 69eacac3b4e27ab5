// One kernel of the process: the packs that may serve it, and the tables made ready so far.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/launch/kernel_table.h"
#include "runtime/launch/resolved.h"

namespace kaon {

enum class LoadRule : uint8_t {
  kOnCall,   // refuse while the stream is being captured
  kPreload,  // the caller promises that nothing is captured on it
};

/// Lives as long as the process; find() is lock-free, all else takes the entry's lock.
class KernelEntry {
 public:
  KernelEntry(std::string name, uint32_t id) : name_(std::move(name)), id_(id) { start_generation(); }
  KernelEntry(const KernelEntry&) = delete;
  KernelEntry& operator=(const KernelEntry&) = delete;

  const std::string& name() const { return name_; }
  /// 0, 1, .. in the order in which the process's kernels were first named.
  uint32_t id() const { return id_; }

  /// The table for a key if it is ready, else null.
  const ResolvedTable* find(const ResolvedKey& key) const {
    const Generation* generation = generation_.load(std::memory_order_acquire);
    ResolvedTable* table = generation->buckets[key.bucket(kBuckets)].load(std::memory_order_acquire);
    while (table != nullptr && !(table->key() == key)) table = table->next.load(std::memory_order_acquire);
    return table;
  }

  /// Finds the table that serves these arguments on `backend` and makes it ready. See Kernel::call for the errors.
  Result<const ResolvedTable*> resolve(Backend& backend, const ResolvedKey& key, const TensorView* const* tensors,
                                       int num_tensors, int num_scalars);

  /// Counts a call that no table serves, for want of its dtypes or of an image for the device: any table of the kernel
  /// that it fits, but for its dtypes, says what its dims are. A call that fits none is not counted.
  void record_unserved(const TensorView* const* tensors, int num_tensors, const ScalarValue* scalars, int num_scalars);

  /// Tells the log why a call was not served by what was tuned for it: once per reason in the life of the process.
  void note_match(const ResolvedTable& table, const Candidate& candidate, Match match, int leaf, const int64_t* slots);

  /// Loads the code of a candidate of `table`. kNotPreloaded when `stream` is being captured.
  Status load(const ResolvedTable& table, Candidate& candidate, void* stream, LoadRule rule);

  /// Makes ready and loads all that calls on `device` can reach, for every dtype binding.
  Status preload(Backend& backend, int device);

  /// Makes every later resolve() fail with `status`, unless an earlier one was reported.
  void report_later(Status status);
  /// kUnsupported for another ABI version. Packs are read when first needed.
  Status add_tables(const KernelTable* tables, size_t count);
  /// Takes precedence over what was there; calls in flight finish with what they had.
  void add_pack(std::shared_ptr<const Pack> pack);
  /// Releases loaded packs that later ones replaced, and tables that were made ready for choices of the past. The
  /// caller promises that nothing of them is used; see kaon::reclaim().
  Status reclaim();

  /// A line for each pack that may serve, in order: its hardware, and the hash of its bytes. Empty for none.
  Result<std::string> sources_text();

  /// Why a call gets its variant on a device with these facts; the device need not exist. Errors as Kernel::call().
  Result<std::string> explain(const DeviceFacts& facts, const TensorView* const* tensors, int num_tensors,
                              const ScalarValue* scalars, int num_scalars);

  /// The same for a call on dense tensors with these dims, of the binding with that dtype key ("f16"; "" where the
  /// kernel has no generic dtype). kNotFound for another key, kInvalidArgument for another number of dims, with what
  /// there is.
  Result<std::string> explain_shape(const DeviceFacts& facts, const std::string& dtype_key,
                                    const std::vector<int64_t>& dims);

  /// The packs that may serve, read and validated, those of $KAON_HEURISTIC_DIR among them.
  Result<std::vector<PackSource>> sources();

  /// Makes later calls look up again.
  void invalidate();

  /// Where a profiler's name of the kernel is kept; see ranges.h.
  std::atomic<void*>* range_name() { return &range_name_; }

  /// What all but find() takes; for who must hold it across a fork.
  std::mutex& mutex() { return mutex_; }

 private:
  static constexpr size_t kBuckets = 16;
  struct Generation {
    std::atomic<ResolvedTable*> buckets[kBuckets] = {};
  };

  // Asks the tables that `find` gives, in the order of lookup, until one runs on the device; `fill` writes the call's
  // slots. Empty when there is none. Needs the lock.
  template <typename Find, typename Fill>
  Result<std::string> explain_tables(const DeviceFacts& facts, Find find, Fill fill);
  void start_generation();
  bool is_replaced(size_t source) const;
  std::vector<Signature> signatures();  // of every table that can be read
  Status add_directory_packs();
  Status read_pack(PackSource& source);
  Result<const ResolvedTable*> resolve_locked(Backend& backend, const ResolvedKey& key, std::string* log);
  // Null when no table with these dtypes runs on the device, with the reasons.
  Result<const ResolvedTable*> resolve_and_log(Backend& backend, const ResolvedKey& key, std::string* reasons);
  Result<const ResolvedTable*> publish(ResolveInput input, std::string* log);
  Status no_table(const DeviceFacts& facts, const TensorView* const* tensors, int num_tensors, int num_scalars,
                  const std::string& reasons) const;
  const PackTable* find_table(const Pack& pack, uint64_t dtypes) const;

  std::string name_;
  uint32_t id_;
  std::atomic<void*> range_name_{nullptr};
  std::atomic<unsigned> noted_{0};  // one bit for each Match that the log was told of
  mutable std::mutex mutex_;
  std::atomic<Generation*> generation_{nullptr};
  Status reported_;
  bool has_directory_packs_ = false;
  std::vector<PackSource> sources_;  // only ever grows: ResolvedTable::source() indexes it
  // All that was published since the last reclaim(): calls in flight and captured graphs may still use it.
  std::vector<std::unique_ptr<Generation>> generations_;
  std::vector<std::unique_ptr<ResolvedTable>> tables_;
};

}  // namespace kaon
