// Keeping the list of guards free of repetitions.
#include "compiler/passes/guards.h"

#include <algorithm>

namespace kaon::compiler {

void add_guard(Kernel& kernel, const Guard& guard) {
  if (guard.kind == GuardKind::kDivisible && guard.value == 1) return;
  for (Guard& known : kernel.guards) {
    if (known.kind != guard.kind || known.slot != guard.slot || known.other != guard.other) continue;
    if (known.value == guard.value) return;
    if (guard.kind == GuardKind::kAtMost || guard.kind == GuardKind::kSpanAtMost) {
      known.value = std::min(known.value, guard.value);
      return;
    }
    if (guard.kind == GuardKind::kDivisible && known.value % guard.value == 0) return;
    if (guard.kind == GuardKind::kDivisible && guard.value % known.value == 0) {
      known.value = guard.value;
      return;
    }
  }
  kernel.guards.push_back(guard);
}

}  // namespace kaon::compiler
