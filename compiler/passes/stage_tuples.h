// Taking folds and scans by a function apart: what stage_reductions does with them.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/passes/partials.h"

namespace kaon::compiler {

/// Appends to `region` what computes the results of `fold`: fold_thread for the register digits of its dims, fold_lanes
/// for lane digits, then the partial results of the warps through shared memory and fold_thread again. Each step passes
/// on a flag whether there was any lane; in the end that decides between the result and zero.
void stage_fold(Kernel& kernel, PartialAxes& axes, Region& region, const Op& fold);

/// Appends to `region` what computes the results of `scan`: scan_thread or scan_lanes for each digit of its dim, least
/// significant first; the totals of a warp digit pass through shared memory into the registers of every thread.
void stage_scan(Kernel& kernel, PartialAxes& axes, Region& region, const Op& scan);

}  // namespace kaon::compiler
