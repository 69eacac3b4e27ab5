// The order of a function's instructions as the assembler sees it.
#pragma once

#include <llvm/IR/Function.h>

namespace kaon::compiler::codegen {

/// Moves what only computes down to its first use, within its block: an element is finished before the next is begun.
/// Lowering goes op by op over all registers of a tile, and ptxas keeps much of that order, so that each op's results
/// would be live at once. Loads stay where they are, as early as they can be.
void compute_late(llvm::Function& function);

}  // namespace kaon::compiler::codegen
