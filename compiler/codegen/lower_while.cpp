// A device loop that ends by a condition: every thread of a block computes the same one, so all leave together.
#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

void Lowering::lower_while(const Op& op) {
  const Region& test = op.regions[0];
  const Region& body = op.regions[1];
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context_, "while", function_);
  llvm::BasicBlock* turn = llvm::BasicBlock::Create(context_, "while.body", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "while.done", function_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  std::vector<std::vector<llvm::PHINode*>> phis;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    std::vector<llvm::PHINode*> group;
    for (llvm::Value* initial : registers(op.operands[i])) {
      group.push_back(b_.CreatePHI(initial->getType(), 2));
      group.back()->addIncoming(initial, before);
    }
    const Registers carried(group.begin(), group.end());
    define(test.args[i], carried);
    define(body.args[i], carried);
    define(op.results[i], carried);
    phis.push_back(std::move(group));
  }
  lower_region(test);
  if (!status_.is_ok()) return;
  b_.CreateCondBr(scalar(test.ops.back()->operands[0]), turn, done);
  b_.SetInsertPoint(turn);
  lower_region(body);
  if (!status_.is_ok()) return;
  yield_to_phis(body, phis);
  b_.CreateBr(header);
  b_.SetInsertPoint(done);
}

}  // namespace kaon::compiler::codegen
