// How far a tensor spans, and how each kind of guard is written.
#include "runtime/base/guards.h"

#include <limits>

#include "runtime/base/text.h"

namespace kaon {

int64_t tensor_span(const Signature& signature, int tensor, const int64_t* slots) {
  const std::vector<Expr>& extents = signature.tensors[static_cast<size_t>(tensor)].extents;
  const int64_t* strides = slots + signature.stride_slot(tensor, 0);
  int64_t span = 0;
  bool is_beyond = false;  // extents times strides may pass 2^63 for tensors that exist only as numbers
  for (size_t axis = 0; axis < extents.size(); ++axis) {
    const int64_t extent = extents[axis].evaluate(slots);
    if (extent <= 0) return 0;
    // The smallest number has no counterpart: its magnitude is unsigned, and beyond any span.
    const auto bits = static_cast<uint64_t>(strides[axis]);
    const uint64_t stride = strides[axis] < 0 ? 0 - bits : bits;
    int64_t step = 0;
    is_beyond =
        is_beyond || __builtin_mul_overflow(extent - 1, stride, &step) || __builtin_add_overflow(span, step, &span);
  }
  return is_beyond ? std::numeric_limits<int64_t>::max() : span;
}

std::string guard_text(const Signature& signature, const Guard& guard) {
  const std::vector<std::string> names = signature.slot_names();
  const std::string& name = names[guard.slot];
  const std::string value = std::to_string(guard.value);
  switch (guard.kind) {
    case GuardKind::kDivisible: return cat(name, " % ", value, " == 0");
    case GuardKind::kEqual: return cat(name, " == ", value);
    case GuardKind::kAtMost: return cat(name, " <= ", value);
    case GuardKind::kAtLeast: return cat(name, " >= ", value);
    case GuardKind::kCongruent: return cat("(", name, " - ", names[guard.other], ") % ", value, " == 0");
    case GuardKind::kSpanAtMost: return cat("span(", name, ") <= ", value);
  }
  return "unknown guard";
}

std::string guards_text(const Signature& signature, const std::vector<Guard>& guards) {
  std::string text;
  for (const Guard& guard : guards) append_to(&text, text.empty() ? "" : ", ", guard_text(signature, guard));
  return text.empty() ? "none" : text;
}

std::string refusing_guard(const Signature& signature, const std::vector<Guard>& guards, const int64_t* slots) {
  const int index = first_refusing(signature, guards, slots);
  if (index < 0) return "";
  const Guard& guard = guards[static_cast<size_t>(index)];
  const std::vector<std::string> names = signature.slot_names();
  std::string text = cat(guard_text(signature, guard), " does not hold, ", names[guard.slot]);
  if (guard.kind == GuardKind::kSpanAtMost) {
    return cat(text, " spans ", tensor_span(signature, guard.slot, slots), " elements");
  }
  append_to(&text, " is ", slots[guard.slot]);
  if (guard.kind == GuardKind::kCongruent) append_to(&text, ", ", names[guard.other], " is ", slots[guard.other]);
  return text;
}

}  // namespace kaon
