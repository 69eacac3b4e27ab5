// Sizes at which the hardware changes its mind: full capacities and full waves. Thresholds that fall near one belong on
// it, since that is where the costs of two variants cross.
#pragma once

#include <cstdint>
#include <vector>

#include "heuristics/table.h"
#include "runtime/base/tree.h"

namespace kaon::heuristics {

/// Blocks of a variant that one multiprocessor holds at once, by threads, registers and shared memory; at least 1.
int resident_blocks(const DeviceFacts& device, const VariantInfo& variant, const Resources& resources);

/// For a feature that is one slot: capacities that guards of `kept` configs put on it, and the largest sizes whose
/// grid fits one or two waves of the device, where the grid depends on that slot alone. Ascending, distinct; empty for
/// other features.
std::vector<int64_t> landmarks(const DeviceFacts& device, const Table& table, const std::vector<int32_t>& kept,
                               const TreeFeature& feature);

}  // namespace kaon::heuristics
