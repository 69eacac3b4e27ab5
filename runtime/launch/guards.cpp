// How guards are made ready, and said in words.
#include "runtime/launch/guards.h"

#include <cstdlib>

namespace kaon {

GuardList::GuardList(const std::vector<Guard>& guards, const ArgumentChecker& checker) : checker_(&checker) {
  for (const Guard& guard : guards) {
    Ready ready{Test::kEqual, guard.slot, guard.other, guard.value};
    switch (guard.kind) {
      case GuardKind::kDivisible:
        ready.test = (guard.value & (guard.value - 1)) == 0 ? Test::kMask : Test::kDivisible;
        if (ready.test == Test::kMask) ready.value = guard.value - 1;
        break;
      case GuardKind::kEqual: ready.test = Test::kEqual; break;
      case GuardKind::kAtMost: ready.test = Test::kAtMost; break;
      case GuardKind::kAtLeast: ready.test = Test::kAtLeast; break;
      case GuardKind::kCongruent: ready.test = Test::kCongruent; break;
      case GuardKind::kSpanAtMost: ready.test = Test::kSpan; break;
    }
    ready_.push_back(ready);
  }
}

int64_t GuardList::span(int tensor, const int64_t* slots) const {
  int64_t extents[kMaxRank];
  checker_->extents(tensor, slots, extents);
  const int64_t* strides = slots + checker_->first_stride_slot(tensor);
  int64_t span = 0;
  for (int axis = 0; axis < checker_->rank(tensor); ++axis) {
    if (extents[axis] == 0) return 0;
    span += (extents[axis] - 1) * std::abs(strides[axis]);
  }
  return span;
}

std::string GuardList::first_failure(const int64_t* slots) const {
  for (const Ready& guard : ready_) {
    if (!holds(guard, slots)) return describe(guard, slots);
  }
  return "";
}

std::string GuardList::describe(const Ready& guard, const int64_t* slots) const {
  std::vector<std::string> names = checker_->signature().slot_names();
  std::string value = std::to_string(guard.value);
  std::string subject = names[guard.slot] + " = " + std::to_string(slots[guard.slot]);
  switch (guard.test) {
    case Test::kMask: return subject + " is not divisible by " + std::to_string(guard.value + 1);
    case Test::kDivisible: return subject + " is not divisible by " + value;
    case Test::kEqual: return subject + " is not " + value;
    case Test::kAtMost: return subject + " is more than " + value;
    case Test::kAtLeast: return subject + " is less than " + value;
    case Test::kCongruent:
      return subject + " and " + names[guard.other] + " = " + std::to_string(slots[guard.other]) +
             " differ by no multiple of " + value;
    case Test::kSpan:
      return names[guard.slot] + " spans " + std::to_string(span(guard.slot, slots)) + " elements, at most " + value;
  }
  return subject;
}

}  // namespace kaon
