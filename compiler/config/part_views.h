// Parts of what is loaded become loads of the part, and joined parts that are stored or reduced are stored and reduced
// one by one.
//
// A slice moves up through ops that work lane by lane until it meets loads, which start later; a concat moves down
// through such ops until it meets stores, which start later, and reductions, whose results are combined. What is left
// of the originals is dead. This is done where nothing else would be: along dimensions whose extent each call brings
// along or that are too long for registers, and for parts that cannot share the lanes of the whole (axis_links.h).
#pragma once

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// Needs a logical kernel; knobs are listed for what this gives, so the space of configs and the pipeline both run it.
void push_parts(Kernel& kernel);

}  // namespace kaon::compiler
