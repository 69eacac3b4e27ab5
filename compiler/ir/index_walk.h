// How an index tile walks a tensor: whether neighbouring lanes along an axis read neighbouring elements.
#pragma once

#include <vector>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// True when lanes that differ only along `axis` hold the same, as far as the ops that made the value tell.
/// `definitions` are those of defining_ops().
bool is_uniform_along(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId value, AxisId axis);

/// The last axis of an integer tile along which its elements go up by one, as in `starts[:, None] + k.index[None, :]`,
/// or kUnitAxis.
AxisId unit_step_axis(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId value);

}  // namespace kaon::compiler
