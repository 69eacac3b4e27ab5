// Sinking computations to their first use.
#include "compiler/codegen/order.h"

#include <vector>

#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>

namespace kaon::compiler::codegen {
namespace {

bool only_computes(const llvm::Instruction& instruction) {
  if (llvm::isa<llvm::PHINode>(instruction) || instruction.isTerminator() || instruction.mayHaveSideEffects() ||
      instruction.mayReadOrWriteMemory()) {
    return false;
  }
  const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
  if (call == nullptr) return true;
  const auto* assembly = llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand());
  return assembly == nullptr || !llvm::StringRef(assembly->getAsmString()).contains("ld.global");
}

/// The first instruction of the same block that reads the value; null when one outside or a phi does first.
llvm::Instruction* first_user(llvm::Instruction& instruction) {
  llvm::Instruction* first = nullptr;
  for (llvm::User* user : instruction.users()) {
    auto* reader = llvm::cast<llvm::Instruction>(user);
    if (reader->getParent() != instruction.getParent() || llvm::isa<llvm::PHINode>(reader)) continue;
    if (first == nullptr || reader->comesBefore(first)) first = reader;
  }
  return first;
}

}  // namespace

void compute_late(llvm::Function& function) {
  for (llvm::BasicBlock& block : function) {
    std::vector<llvm::Instruction*> movable;
    for (llvm::Instruction& instruction : block) {
      if (only_computes(instruction)) movable.push_back(&instruction);
    }
    for (auto at = movable.rbegin(); at != movable.rend(); ++at) {
      llvm::Instruction* user = first_user(**at);
      if (user != nullptr) (*at)->moveBefore(user);
    }
  }
}

}  // namespace kaon::compiler::codegen
