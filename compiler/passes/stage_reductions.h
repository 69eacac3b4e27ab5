// Needs: a laid-out kernel with its accesses planned.
// Gives: stage kStaged. A `reduce` becomes
//          reduce_thread  folds the register digits of its dims, taking fn's identity for lanes that do not exist (the
//                         code generator selects by the masks of the operand's axes); a dim that lane or warp digits
//                         are left of becomes a static axis of partial results, of which no lane is missing
//          reduce_lanes   folds the lane digits; the result is in every lane
//          shared_store, shared_load, reduce_thread or reduce_lanes   when warp digits are left: the partial results of
//                         the warps pass through a buffer of their own, and every thread (or, of many, every warp)
//                         folds all of them
//        with all dims kept as unit axes, then `squeeze`. A `convert` becomes shared_store and shared_load; a reshape,
//        slice or concat a `pick`, or the same (stage_views.h); a fold or scan by a function such steps with a flag
//        (stage_tuples.h).
//        Buffers are row-major by position, extents being the capacities of the layout. No barriers yet.
// Why here: everything before works on whole reductions; barriers are placed once all shared accesses are known.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status stage_reductions(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
