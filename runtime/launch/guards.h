// Whether a variant accepts a call: its guards made ready for testing, and in words when one does not hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/variant.h"
#include "runtime/launch/arguments.h"

namespace kaon {

/// The guards of one variant. `checker` must outlive it.
class GuardList {
 public:
  GuardList(const std::vector<Guard>& guards, const ArgumentChecker& checker);

  bool hold(const int64_t* slots) const {
    for (const Ready& guard : ready_) {
      if (!holds(guard, slots)) return false;
    }
    return true;
  }
  /// The first guard that does not hold, as "N = 7 is not divisible by 8"; empty when all hold.
  std::string first_failure(const int64_t* slots) const;

 private:
  enum class Test : uint8_t { kMask, kDivisible, kEqual, kAtMost, kAtLeast, kCongruent, kSpan };
  struct Ready {
    Test test;
    uint16_t slot;
    uint16_t other;
    int64_t value;  // kMask: value - 1
  };

  bool holds(const Ready& guard, const int64_t* slots) const {
    int64_t x = slots[guard.slot];
    switch (guard.test) {
      case Test::kMask: return (x & guard.value) == 0;
      case Test::kDivisible: return x % guard.value == 0;
      case Test::kEqual: return x == guard.value;
      case Test::kAtMost: return x <= guard.value;
      case Test::kAtLeast: return x >= guard.value;
      case Test::kCongruent: return (x - slots[guard.other]) % guard.value == 0;
      case Test::kSpan: return span(guard.slot, slots) <= guard.value;
    }
    return false;
  }
  int64_t span(int tensor, const int64_t* slots) const;
  std::string describe(const Ready& guard, const int64_t* slots) const;

  const ArgumentChecker* checker_;
  std::vector<Ready> ready_;
};

}  // namespace kaon
