// Needs: a layout for every value.
// Gives: `convert` ops wherever an op reads an operand in another layout than its result asks for.
// Why here: layouts of different sets of axes meet only at views and reductions, and all are known now.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status insert_conversions(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
