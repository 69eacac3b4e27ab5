// Needs: a logical kernel whose tile axes have their block.
// Gives: one `grid` around everything, device `loop`s for the other tiles; the launch plan but for its shared memory.
// Why here: layouts are chosen for what one program does.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status map_grid(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
