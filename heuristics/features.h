// What the tree may ask of a call, and what the teacher knows of a (config, call) pair.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heuristics/table.h"
#include "runtime/base/tree.h"

namespace kaon::heuristics {

/// A candidate feature that was left out, and why: "always 0", "orders the shapes as N does".
struct PrunedFeature {
  std::string name;
  std::string reason;
};

struct Vocabulary {
  std::vector<TreeFeature> features;
  std::vector<PrunedFeature> pruned;
};

/// Integer features of select() for one table: dims and integer scalars, products of two dims, remainders of the
/// dims that some tensor has innermost, the shapes file's own. Ignored dims appear in none but the latter. A feature
/// that is constant on the fitted shapes, or that orders them exactly as an earlier one does, is pruned: it could
/// make no split that the earlier one cannot. The measurements must be valid.
Vocabulary tree_vocabulary(const Measurements& measurements, const Table& table);

/// The teacher's columns for each (config, shape): knobs as numbers, log2 of dims and products, powers of two that
/// divide the inner dims, and what guards and launch plan imply: extent over capacity, elements over threads, waves
/// over the multiprocessors and how full the last one is.
class TeacherFeatures {
 public:
  TeacherFeatures(const DeviceFacts& device, const Table& table);

  int num_columns() const { return num_columns_; }
  /// Appends num_columns() values for `config` on the call `slots`.
  void append(int config, const int64_t* slots, std::vector<float>* out) const;

 private:
  void append_plan(const VariantInfo& variant, const Resources& resources, const int64_t* slots,
                   std::vector<float>* out) const;

  const DeviceFacts& device_;
  const Table& table_;
  std::vector<int> size_slots_;                   // dims and integer scalars
  std::vector<int> inner_slots_;                  // dims that some tensor has innermost
  std::vector<std::vector<float>> knob_columns_;  // per config
  int num_columns_ = 0;
};

/// Slots of dims that are the innermost extent of some tensor, ascending.
std::vector<int> inner_dim_slots(const Signature& signature);
/// Slots of every dim and every integer scalar, in order of declaration.
std::vector<int> size_slots(const Signature& signature);

}  // namespace kaon::heuristics
