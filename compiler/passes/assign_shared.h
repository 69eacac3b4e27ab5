// Needs: shared accesses and barriers in their final places.
// Gives: an offset for every buffer and the block's shared bytes in the launch plan. Buffers overlap only when the last
//        access of one and the first of the other have a barrier between them that every thread passes.
// Why here: lifetimes are final.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status assign_shared(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
