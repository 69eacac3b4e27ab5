// Needs: a staged kernel without barriers.
// Gives: a barrier between a write of a shared buffer and a read of it, and between a read and the next write, around
//        loops as well; and between stores to one element of a tensor by different threads; none elsewhere. A barrier
//        stands right before the access that needs it, so straight-line code with one buffer per reduction has exactly
//        one per reduction.
// Why here: all shared accesses exist now, and offsets may be shared only across barriers.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status place_barriers(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
