// The guards of a variant made ready to be asked on every call: all of the common kinds are one and the same
// comparison.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/base/guards.h"

namespace kaon {

class GuardProgram {
 public:
  /// `signature` and `guards` must outlive the program.
  GuardProgram(const Signature& signature, const std::vector<Guard>& guards) : signature_(signature) {
    for (const Guard& guard : guards) add(guard);
  }

  /// Whether every guard holds.
  bool accepts(const int64_t* slots) const {
    for (const Range& range : ranges_) {
      if (static_cast<uint64_t>(slots[range.slot]) - range.low > range.width) return false;
    }
    uint64_t bits = 0;
    for (const Zero& zero : zeros_) {
      const uint64_t other = static_cast<uint64_t>(slots[zero.other]) & zero.other_mask;
      bits |= (static_cast<uint64_t>(slots[zero.slot]) - other - zero.value) & zero.mask;
    }
    if (bits != 0) return false;
    for (const Guard* guard : rest_) {
      if (!holds(signature_, *guard, slots)) return false;
    }
    return true;
  }

 private:
  // Limits hold when slot - low <= width modulo 2^64. They are asked first: they tell variants of one leaf apart.
  struct Range {
    uint16_t slot;
    uint64_t low, width;
  };
  // The others hold when (slot - (other & other_mask) - value) & mask is 0: all of them together are one branch.
  struct Zero {
    uint16_t slot, other;
    uint64_t other_mask;  // all bits where two slots are compared, else none
    uint64_t value;       // of an equality
    uint64_t mask;        // the low bits for divisibility by a power of two, else all
  };

  void add(const Guard& guard) {
    constexpr uint64_t kAll = ~uint64_t{0};
    const uint64_t value = static_cast<uint64_t>(guard.value), lowest = uint64_t{1} << 63;
    const bool is_power = guard.value > 0 && (value & (value - 1)) == 0;
    switch (guard.kind) {
      case GuardKind::kDivisible:
        if (!is_power) break;
        return zeros_.push_back({guard.slot, guard.slot, 0, 0, value - 1});
      case GuardKind::kCongruent:
        if (!is_power) break;
        return zeros_.push_back({guard.slot, guard.other, kAll, 0, value - 1});
      case GuardKind::kEqual: return zeros_.push_back({guard.slot, guard.slot, 0, value, kAll});
      case GuardKind::kAtMost: return ranges_.push_back({guard.slot, lowest, value - lowest});
      case GuardKind::kAtLeast: return ranges_.push_back({guard.slot, value, (lowest - 1) - value});
      case GuardKind::kSpanAtMost: break;
    }
    rest_.push_back(&guard);
  }

  const Signature& signature_;
  std::vector<Range> ranges_;
  std::vector<Zero> zeros_;
  std::vector<const Guard*> rest_;
};

}  // namespace kaon
