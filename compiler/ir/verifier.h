// Whether a kernel is well formed for its stage: what every pass may rely on and must leave behind.
#pragma once

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// Checks, for the kernel's stage:
///   - every op belongs to the stage, has the operands, results, regions and attributes of its row in ops.inc, and the
///     types of ir.h;
///   - values are defined once and before their use, within the region of their definition; bounds of axes as well;
///   - one outermost tile or grid; `loop` only inside a grid and `tile` only without one; nothing but pure ops around
///   it;
///   - a tile axis is used only inside the loop over it; yields match results;
///   - laid out and staged: tiles have a legal layout of the type's rank and the axes' capacities, for the kernel's
///   warps;
///     element-wise ops and views do not change it.
/// kInternal: "verify: <stage>: <op>: expected ..., got ...".
Status verify(const Kernel& kernel);

}  // namespace kaon::compiler
