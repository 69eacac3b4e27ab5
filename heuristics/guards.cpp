// How each kind of guard is evaluated and written.
#include "heuristics/guards.h"

namespace kaon::heuristics {
namespace {

// Elements between the first and the last one of a tensor, or 0 for an empty one.
int64_t span(const Signature& signature, int tensor, const int64_t* slots) {
  int64_t total = 0;
  const std::vector<Expr>& extents = signature.tensors[tensor].extents;
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    int64_t extent = extents[axis].evaluate(slots);
    if (extent <= 0) return 0;
    int64_t stride = slots[signature.stride_slot(tensor, static_cast<int>(axis))];
    total += (extent - 1) * (stride < 0 ? -stride : stride);
  }
  return total;
}

int64_t remainder(int64_t value, int64_t divisor) {
  if (divisor == 0) return value;
  int64_t r = value % divisor;
  return r < 0 ? r + divisor : r;
}

}  // namespace

bool holds(const Signature& signature, const Guard& guard, const int64_t* slots) {
  switch (guard.kind) {
    case GuardKind::kDivisible: return remainder(slots[guard.slot], guard.value) == 0;
    case GuardKind::kEqual: return slots[guard.slot] == guard.value;
    case GuardKind::kAtMost: return slots[guard.slot] <= guard.value;
    case GuardKind::kAtLeast: return slots[guard.slot] >= guard.value;
    case GuardKind::kCongruent: return remainder(slots[guard.slot] - slots[guard.other], guard.value) == 0;
    case GuardKind::kSpanAtMost: return span(signature, guard.slot, slots) <= guard.value;
  }
  return false;
}

int first_refusing(const Signature& signature, const std::vector<Guard>& guards, const int64_t* slots) {
  for (size_t i = 0; i < guards.size(); ++i) {
    if (!holds(signature, guards[i], slots)) return static_cast<int>(i);
  }
  return -1;
}

std::string guard_text(const Signature& signature, const Guard& guard) {
  std::vector<std::string> names = signature.slot_names();
  const std::string& name = names[guard.slot];
  std::string value = std::to_string(guard.value);
  switch (guard.kind) {
    case GuardKind::kDivisible: return name + " % " + value + " == 0";
    case GuardKind::kEqual: return name + " == " + value;
    case GuardKind::kAtMost: return name + " <= " + value;
    case GuardKind::kAtLeast: return name + " >= " + value;
    case GuardKind::kCongruent: return "(" + name + " - " + names[guard.other] + ") % " + value + " == 0";
    case GuardKind::kSpanAtMost: return "span(" + name + ") <= " + value;
  }
  return "unknown guard";
}

std::string guards_text(const Signature& signature, const std::vector<Guard>& guards) {
  std::string text;
  for (const Guard& guard : guards) text += (text.empty() ? "" : ", ") + guard_text(signature, guard);
  return text.empty() ? "none" : text;
}

}  // namespace kaon::heuristics
