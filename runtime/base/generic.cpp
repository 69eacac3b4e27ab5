#include "runtime/base/generic.h"

namespace kaon {

bool only_fix_dims(const Signature& signature, const std::vector<Guard>& guards) {
  const int first = signature.dim_slot(0);
  const int end = signature.dim_slot(static_cast<int>(signature.dims.size()));
  for (const Guard& guard : guards) {
    if (guard.kind != GuardKind::kEqual || guard.slot < first || guard.slot >= end) return false;
  }
  return true;
}

}  // namespace kaon
