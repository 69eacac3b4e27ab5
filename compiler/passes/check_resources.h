// Needs: a finished staged kernel and its launch plan.
// Gives: kIllegalConfig with both numbers when the target has not enough threads or shared memory for a block.
// Why here: the numbers are final; registers are known only to the assembler.
#pragma once

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

Status check_resources(Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
