// Needs: a logical kernel in one grid, with the capacity of its resident rows.
// Gives: for versions.N > 1 the grid's body as several, each with an axis of less capacity in place of N, under
// branches on
//        the extent; for longer.N = loop one more for what exceeds the capacity, whose axis roll_reductions turns into
//        loops. Every branch is taken by a whole block: barriers inside stay legal.
// Why here: the versions' axes get layouts of their own, so before those are chosen; a grid has no bounds left to map.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status version_rows(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
