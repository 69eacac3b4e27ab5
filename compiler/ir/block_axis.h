// Which axes have their tile size in common: a registered block and the tile axes that run by it.
//
// A registered block is a static axis whose block_axis is itself. Its extent is that of the dimension it was registered
// for, as a hint, until the config gives it the size that its tiles have.
#pragma once

#include "compiler/ir/ir.h"

namespace kaon::compiler {

inline bool is_block(const Axis& axis) { return axis.kind == AxisKind::kStatic && axis.block_axis != kUnitAxis; }

/// The axis that decides the tile size of `axis`: its registered block, else itself. A unit axis stays one.
inline AxisId block_of(const Kernel& kernel, AxisId axis) {
  if (axis == kUnitAxis || kernel.axis(axis).block_axis == kUnitAxis) return axis;
  return kernel.axis(axis).block_axis;
}

/// Whether values along `a` and `b` correspond position by position: one axis, or a block and a tile axis that runs by
/// it.
inline bool correspond(const Kernel& kernel, AxisId a, AxisId b) {
  if (a == b) return true;
  if (a == kUnitAxis || b == kUnitAxis || block_of(kernel, a) != block_of(kernel, b)) return false;
  return is_block(kernel.axis(a)) || is_block(kernel.axis(b));
}

}  // namespace kaon::compiler
