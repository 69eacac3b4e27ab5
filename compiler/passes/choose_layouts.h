// Needs: a logical kernel after map_grid, with its num_warps.
// Gives: a layout for every value: along the inner axis [vector: registers][lanes, then warps][repetitions: registers],
//        what is left of lanes and warps on the outer axes; reduced and unit axes have no digits. Stage kLaidOut.
// Why here: axes have one assignment of digits per set of axes, so element-wise ops of a set need no conversion.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status choose_layouts(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
