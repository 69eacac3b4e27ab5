// Needs: a staged kernel; knobs num_stages and unroll.<axis>.
// Gives: attribute `unroll` on the loops that repeat their body, and for num_stages > 1 attribute `stages` on innermost
//        loops with `ahead` on their loads: those of later turns are issued before the current turn uses its own.
//        kIllegalConfig when no loop has such a load.
// Why here: conversions and folds are steps by now, so what a load waits for is plain; codegen only spells the
// schedule.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status schedule_loops(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
