// A table made ready for one device and context: candidates that can run there, and the choice among them for a call.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "runtime/base/guards.h"
#include "runtime/launch/arguments.h"
#include "runtime/launch/backend.h"
#include "runtime/launch/coverage.h"
#include "runtime/launch/guard_program.h"
#include "runtime/launch/lookup.h"
#include "runtime/launch/match.h"

namespace kaon {

/// A variant that can run on the device. Its function is loaded when it is first chosen, or by preload.
struct Candidate {
  Candidate(const PackVariant& variant, const Signature& signature);

  bool accepts(const int64_t* slots) const { return program.accepts(slots); }

  /// Blocks of the grid; 0 or less when there is nothing to do.
  int64_t num_programs(const int64_t* slots) const {
    if (rows_slot < 0) return evaluate(programs, slots);
    const int64_t rows = slots[rows_slot];
    return (rows >> rows_shift) + ((rows & ((int64_t{1} << rows_shift) - 1)) != 0);
  }

  const Signature* signature;
  const std::vector<Guard>* guards;
  GuardProgram program;  // of the guards
  ExprView programs;
  int rows_slot = -1;  // not negative when `programs` is ceil_div(that slot, 2^rows_shift), as of most kernels
  int rows_shift = 0;
  LaunchDims dims;  // but for the number of programs
  const std::vector<LaunchStep>* steps;
  bool is_single_step;
  std::atomic<void*> function{nullptr};
  int image = 0;  // index into the pack's images
  VariantFacts facts;
  std::string config_text;  // behind facts.config
};

/// What identifies a ResolvedTable among those of a kernel.
struct ResolvedKey {
  uint64_t context = 0;
  uint64_t dtypes = 0;
  int device = 0;

  friend bool operator==(const ResolvedKey& a, const ResolvedKey& b) {
    return a.context == b.context && a.dtypes == b.dtypes && a.device == b.device;
  }
  size_t bucket(size_t num_buckets) const {
    return static_cast<size_t>(((context ^ dtypes * 0x9e3779b97f4a7c15u) * 0xd1b54a32d192ed03u) >> 58) % num_buckets;
  }
};

/// Which variant the program insists on.
struct ForcedVariant {
  bool is_set = false;
  bool is_fingerprint = false;  // else an index
  uint64_t value = 0;
};

/// Everything that making a ResolvedTable needs.
struct ResolveInput {
  ResolvedKey key;
  Backend* backend = nullptr;
  DeviceFacts facts;
  const Pack* pack = nullptr;
  const PackTable* table = nullptr;
  SelectFn select = nullptr;  // null: the pack's tree is walked
  int source = 0;
  TableFit fit = TableFit::kExact;
  std::vector<VariantFit> variants;
  ForcedVariant forced;
};

/// Immutable after it was published, but for Candidate::function. Safe to use from any thread without locks.
class ResolvedTable {
 public:
  /// kNotFound or kUnsupported when the forced variant does not exist or cannot run here.
  static Result<std::unique_ptr<ResolvedTable>> make(const ResolveInput& input);

  const ResolvedKey& key() const { return key_; }
  Backend& backend() const { return *backend_; }
  const DeviceFacts& facts() const { return facts_; }
  const ArgumentChecker& checker() const { return checker_; }
  int num_scalars() const { return num_scalars_; }
  int source() const { return source_; }
  const Pack& pack() const { return *pack_; }
  const PackTable& pack_table() const { return *table_; }
  TableFit fit() const { return fit_; }
  const std::vector<std::unique_ptr<Candidate>>& candidates() const { return candidates_; }

  /// The variant for a row of slots: the forced one, or the first of the leaf whose guards hold. Null when select()
  /// answered no leaf, a specialised dimension has a value that nothing was compiled for, or the forced variant's
  /// guards do not hold. `leaf` gets -1 when forced.
  Candidate* choose(const int64_t* slots, int* leaf) const {
    if (forced_ != nullptr) {
      *leaf = -1;
      return forced_->accepts(slots) ? forced_ : nullptr;
    }
    unsigned index = static_cast<unsigned>(select_ != nullptr ? select_(slots) : find_leaf(*tree_, slots));
    *leaf = static_cast<int>(index);
    if (index + 1 >= leaf_begin_.size()) return nullptr;
    for (uint32_t i = leaf_begin_[index]; i < leaf_begin_[index + 1]; ++i) {
      if (ranked_[i]->accepts(slots)) return ranked_[i];
    }
    return nullptr;
  }
  /// Why choose() gave null.
  Status choose_failure(const int64_t* slots, int leaf) const;

  /// The variant whose config has this fingerprint, if it runs here and its guards hold. Null with the reason in
  /// `*error`: kNotFound with what there is, kUnsupported with what the device lacks, kInvalidArgument with the guard.
  Candidate* route(uint64_t fingerprint, const int64_t* slots, Status* error) const;

  /// How well the table knows the shape that `candidate` was chosen for.
  Match match(const Candidate& candidate, int leaf, const int64_t* slots) const {
    if (leaf < 0) return Match::kForced;
    if (fit_ == TableFit::kGenericOnly) return Match::kGeneric;
    if (candidate.facts.index == fallback_[leaf]) return Match::kGeneric;
    if (fit_ == TableFit::kOlder) return Match::kOlderTable;
    return coverage_.match(slots + checker_.num_tensors());
  }

  /// "softmax f16 on cuda:0 NVIDIA H200 (sm90): table sm90, 5 of 6 variants run here".
  std::string summary() const;

  std::atomic<ResolvedTable*> next{nullptr};  // in its bucket

 private:
  ResolvedTable(const ResolveInput& input);
  Status pick_forced(const ResolveInput& input);
  Status value_not_compiled(const int64_t* slots) const;

  ResolvedKey key_;
  Backend* backend_;
  DeviceFacts facts_;
  const Pack* pack_;
  const PackTable* table_;
  SelectFn select_;
  const DecisionTree* tree_;
  int source_;
  TableFit fit_;
  ArgumentChecker checker_;
  int num_scalars_;
  Candidate* forced_ = nullptr;
  std::vector<std::unique_ptr<Candidate>> candidates_;
  struct Skipped {
    size_t index;        // in the table
    std::string reason;  // "needs 147456 bytes of shared memory, the device has 101376"
  };
  std::vector<Skipped> skipped_;
  std::vector<uint32_t> leaf_begin_;  // leaf i ranks ranked_[leaf_begin_[i], leaf_begin_[i + 1])
  std::vector<Candidate*> ranked_;
  std::vector<int> fallback_;  // per leaf: its generic variant, -1 where that is ranked first
  Coverage coverage_;
};

}  // namespace kaon
