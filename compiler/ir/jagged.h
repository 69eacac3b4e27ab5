// Which lanes of a jagged axis exist: what its lengths run over, and which values have them all.
#pragma once

#include <vector>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// The axes that the lengths of jagged axis `axis` run over; empty when it is not jagged.
const std::vector<AxisId>& parents_of(const Kernel& kernel, AxisId axis);

/// True when a value with these axes, among them jagged `axis`, has every parent: its lanes end at the lengths. Without
/// a parent they end at the greatest length, and as that depends on which lanes share a tile, such a value may only be
/// computed with and broadcast, not loaded, stored or folded.
bool is_cut_by_lengths(const Kernel& kernel, const std::vector<AxisId>& axes, AxisId axis);

/// A jagged axis of `axes` that lacks a parent there, or kUnitAxis; `parent` gets the first one missing.
AxisId axis_without_parent(const Kernel& kernel, const std::vector<AxisId>& axes, AxisId* parent);

}  // namespace kaon::compiler
