// Needs: layouts and conversions; rolled axes already loops. Knob keep.<axis> = input on a resident row.
// Gives: behind each reduction over the axis, what is computed along it from loads of elements below 32 bits is computed
//        anew from `reuse` of those loads. Across the reduction a thread then holds packed elements, not 32 bits each.
// Why here: only now do all values along a row stand in one straight line; the clones get the layouts of their originals.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status keep_inputs(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
