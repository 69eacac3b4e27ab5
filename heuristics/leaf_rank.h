// In which order a leaf tries its variants, and what that costs over the samples that reach it.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "heuristics/samples.h"

namespace kaon::heuristics {

/// The distinct sets of variants that guards refuse, numbered: samples of one group can be added up.
class GuardGroups {
 public:
  static constexpr int kMaxGroups = 64;
  GuardGroups(const std::vector<Sample>& samples, int num_variants);

  int num_variants() const { return num_variants_; }
  int num_groups() const { return static_cast<int>(refused_.size()); }
  int group_of(size_t sample) const { return group_of_[sample]; }
  /// Bit g: variant v accepts group g.
  uint64_t accepted_groups(int variant) const { return accepted_[variant]; }

 private:
  int num_variants_;
  std::vector<uint32_t> refused_;  // per group
  std::vector<int> group_of_;
  std::vector<uint64_t> accepted_;
};

/// Sums over a set of samples, kept up while samples move between the sides of a split. The last variant is the
/// generic one: always allowed. Another is allowed when some measured sample of the set was right with it and none
/// failed.
class LeafStats {
 public:
  LeafStats(const std::vector<Sample>& samples, const GuardGroups& groups);
  void add(size_t sample) { move(sample, 1); }
  void remove(size_t sample) { move(sample, -1); }
  int measured_shapes() const { return measured_shapes_; }

  /// Weighted cost when each sample is served by the first variant of the best chain that accepts it; `chain`, when
  /// not null, receives that chain.
  int64_t best_chain(std::vector<uint16_t>* chain) const;
  /// The chain, then the other allowed variants that are no slower than the generic one on the samples that they
  /// accept, best mean first; the generic variant last.
  std::vector<uint16_t> ranked() const;

 private:
  bool allowed(int variant) const;
  void move(size_t sample, int sign);
  struct Search;
  void extend(Search* search, uint64_t remaining, int64_t so_far) const;

  const std::vector<Sample>& samples_;
  const GuardGroups& groups_;
  int measured_shapes_ = 0;
  std::vector<int64_t> cost_;     // [group * variants + v], weighted
  std::vector<int64_t> weight_;   // [group]
  std::vector<int> group_count_;  // samples per group
  std::vector<int> right_;        // [v]: measured samples that v served
  std::vector<int> failed_;       // [v]
};

}  // namespace kaon::heuristics
