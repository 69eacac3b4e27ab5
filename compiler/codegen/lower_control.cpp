// Which tiles a program runs: the grid's decoding, device loops and branches.
#include "compiler/codegen/lower.h"
#include "compiler/config/cluster.h"

namespace kaon::compiler::codegen {

void Lowering::lower_grid(const Op& op) {
  llvm::Value* rest = call(DeviceFunction::kProgram, {});
  const std::vector<int64_t>& axes = op.ints_attr("axes");
  for (size_t i = axes.size(); i-- > 0;) {
    const AxisId id = static_cast<AxisId>(axes[i]);
    const Axis& axis = kernel_.axis(id);
    llvm::Value* begin = axis_begin(axis);
    llvm::Value* number = rest;
    if (i > 0) {  // the slowest axis needs no remainder
      llvm::Value* length = b_.CreateSub(axis_end(axis), begin);
      llvm::Value* rounded = b_.CreateAdd(length, b_.getInt64(static_cast<uint64_t>(axis.block - 1)));
      llvm::Value* count = b_.CreateUDiv(rounded, b_.getInt64(static_cast<uint64_t>(axis.block)));
      count = b_.CreateTrunc(count, b_.getInt32Ty());
      number = b_.CreateURem(rest, count);
      rest = b_.CreateUDiv(rest, count);
    }
    number = b_.CreateZExt(number, b_.getInt64Ty());
    llvm::Value* start =
        b_.CreateMul(number, b_.getInt64(static_cast<uint64_t>(axis.block)), "", /*HasNUW=*/true, true);
    enter_tile(id, b_.CreateAdd(begin, start), number);
  }
  lower_region(op.regions[0]);
}

void Lowering::lower_loop(const Op& op) {
  const AxisId id = static_cast<AxisId>(op.int_attr("axis"));
  const Axis& axis = kernel_.axis(id);
  const Region& region = op.regions[0];
  llvm::Value* begin = axis_begin(axis);
  llvm::Value* end = b_.CreateAdd(axis_end(axis), b_.getInt64(static_cast<uint64_t>(op.int_attr("extra"))));
  const bool walks_back = op.int_attr("reverse") != 0;
  const auto block = static_cast<uint64_t>(axis.block);
  llvm::Value* first = begin;
  llvm::Value* first_number = b_.getInt64(0);
  if (walks_back) {
    llvm::Value* length = emit_min_max(DType::kI64, b_.CreateSub(end, begin), b_.getInt64(0), /*is_max=*/true);
    llvm::Value* count = b_.CreateUDiv(b_.CreateAdd(length, b_.getInt64(block - 1)), b_.getInt64(block));
    first_number = b_.CreateSub(count, b_.getInt64(1));
    first = b_.CreateAdd(begin, b_.CreateMul(first_number, b_.getInt64(block)));
  }
  llvm::BasicBlock* before = b_.GetInsertBlock();
  llvm::BasicBlock* header = llvm::BasicBlock::Create(context_, "loop", function_);
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "loop.body", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "loop.done", function_);
  b_.CreateBr(header);
  b_.SetInsertPoint(header);
  llvm::PHINode* position = b_.CreatePHI(b_.getInt64Ty(), 2, axis.name);
  llvm::PHINode* number = b_.CreatePHI(b_.getInt64Ty(), 2);
  position->addIncoming(first, before);
  number->addIncoming(first_number, before);
  std::vector<std::vector<llvm::PHINode*>> phis;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    std::vector<llvm::PHINode*> group;
    for (llvm::Value* initial : registers(op.operands[i])) {
      group.push_back(b_.CreatePHI(initial->getType(), 2));
      group.back()->addIncoming(initial, before);
    }
    define(region.args[i], Registers(group.begin(), group.end()));
    phis.push_back(std::move(group));
  }
  b_.CreateCondBr(walks_back ? b_.CreateICmpSGE(position, begin) : b_.CreateICmpSLT(position, end), body, done);
  b_.SetInsertPoint(body);
  const AxisState outer = axis_states_[static_cast<size_t>(id)];
  enter_tile(id, position, number);
  lower_region(region);
  axis_states_[static_cast<size_t>(id)] = outer;
  if (!status_.is_ok()) return;
  llvm::BasicBlock* latch = b_.GetInsertBlock();
  yield_to_phis(region, phis);
  if (walks_back) {
    position->addIncoming(b_.CreateSub(position, b_.getInt64(block), "", false, true), latch);
    number->addIncoming(b_.CreateSub(number, b_.getInt64(1), "", false, true), latch);
  } else {
    position->addIncoming(b_.CreateAdd(position, b_.getInt64(block), "", false, true), latch);
    number->addIncoming(b_.CreateAdd(number, b_.getInt64(1), "", true, true), latch);
  }
  b_.CreateBr(header);
  b_.SetInsertPoint(done);
  for (size_t i = 0; i < op.results.size(); ++i) define(op.results[i], Registers(phis[i].begin(), phis[i].end()));
}

void Lowering::yield_to_phis(const Region& region, llvm::ArrayRef<std::vector<llvm::PHINode*>> phis) {
  const Op* yield = region.ops.empty() ? nullptr : region.ops.back().get();
  for (size_t i = 0; i < phis.size(); ++i) {
    for (size_t r = 0; r < phis[i].size(); ++r) {
      phis[i][r]->addIncoming(registers(yield->operands[i])[r], b_.GetInsertBlock());
    }
  }
}

void Lowering::lower_if(const Op& op) {
  llvm::BasicBlock* branches[2] = {llvm::BasicBlock::Create(context_, "then", function_),
                                   llvm::BasicBlock::Create(context_, "else", function_)};
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "if.done", function_);
  b_.CreateCondBr(scalar(op.operands[0]), branches[0], branches[1]);
  std::vector<std::vector<llvm::PHINode*>> phis;
  b_.SetInsertPoint(done);
  for (ValueId result : op.results) {
    std::vector<llvm::PHINode*> group;
    for (uint32_t r = 0; r < register_count(kernel_.layout(result)); ++r) {
      group.push_back(b_.CreatePHI(element_type(kernel_.type(result).dtype), 2));
    }
    phis.push_back(std::move(group));
  }
  const bool must_wait = !cluster_is_ready_ && uses_shared(op);
  for (size_t i = 0; i < 2; ++i) {
    b_.SetInsertPoint(branches[i]);
    if (must_wait) cluster_is_ready_ = false;
    if (i < op.regions.size()) lower_region(op.regions[i]);
    if (must_wait && !cluster_is_ready_) await_cluster();
    if (!status_.is_ok()) return;
    if (i < op.regions.size()) yield_to_phis(op.regions[i], phis);
    b_.CreateBr(done);
  }
  b_.SetInsertPoint(done);
  for (size_t i = 0; i < op.results.size(); ++i) define(op.results[i], Registers(phis[i].begin(), phis[i].end()));
}

}  // namespace kaon::compiler::codegen
