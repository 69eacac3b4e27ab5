// Needs: layouts; knobs reduce.<axis> = chunk(c), whose axis has the block c.
// Gives: each such axis as a tile axis that device loops walk: one loop per level of reductions that depend on each
//        other. Loads and other values along the axis are repeated in every loop that needs them; partial results (one
//        per thread and row) are carried, and folded across threads once after the loop. max followed by the sum of
//        exp(x - max) takes one loop, the running sum being rescaled. Stores go to the last loop.
// Why here: partial results have the layout of their operand without its registers, so layouts must be known; the
//           access plan differs for rows that are walked.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status roll_reductions(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
