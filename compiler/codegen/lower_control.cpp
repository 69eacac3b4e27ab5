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

LoopRange Lowering::loop_range(const Op& op) {
  const Axis& axis = kernel_.axis(static_cast<AxisId>(op.int_attr("axis")));
  LoopRange range;
  range.begin = axis_begin(axis);
  range.end = b_.CreateAdd(axis_end(axis), b_.getInt64(static_cast<uint64_t>(op.int_attr("extra"))));
  range.direction = op.int_attr("reverse") != 0 ? -1 : 1;
  range.step = range.direction * axis.block;
  return range;
}

LoopState Lowering::loop_start(const Op& op, const LoopRange& range) {
  LoopState state{range.begin, b_.getInt64(0), {}};
  if (range.direction < 0) {
    const auto block = static_cast<uint64_t>(-range.step);
    llvm::Value* length = b_.CreateSub(range.end, range.begin);
    length = emit_min_max(DType::kI64, length, b_.getInt64(0), /*is_max=*/true);
    llvm::Value* count = b_.CreateUDiv(b_.CreateAdd(length, b_.getInt64(block - 1)), b_.getInt64(block));
    state.number = b_.CreateSub(count, b_.getInt64(1));
    state.position = b_.CreateAdd(range.begin, b_.CreateMul(state.number, b_.getInt64(block)));
  }
  for (const ValueId initial : op.operands) state.carried.push_back(registers(initial));
  return state;
}

llvm::Value* Lowering::has_turn(const LoopRange& range, llvm::Value* position, int64_t turns) {
  if (turns > 0) position = b_.CreateAdd(position, llvm::ConstantInt::getSigned(b_.getInt64Ty(), turns * range.step));
  return range.direction < 0 ? b_.CreateICmpSGE(position, range.begin) : b_.CreateICmpSLT(position, range.end);
}

LoopHeader Lowering::begin_header(const LoopState& start, const char* name) {
  llvm::BasicBlock* before = b_.GetInsertBlock();
  LoopHeader header;
  header.block = llvm::BasicBlock::Create(context_, name, function_);
  b_.CreateBr(header.block);
  b_.SetInsertPoint(header.block);
  const auto phi = [&](llvm::Value* initial) {
    llvm::PHINode* made = b_.CreatePHI(initial->getType(), 2);
    made->addIncoming(initial, before);
    return made;
  };
  header.state.position = phi(start.position);
  header.state.number = phi(start.number);
  for (const Registers& group : start.carried) {
    Registers& phis = header.state.carried.emplace_back();
    for (llvm::Value* initial : group) phis.push_back(phi(initial));
  }
  return header;
}

void Lowering::end_header(const LoopHeader& header, const LoopState& next) {
  const auto take = [&](llvm::Value* phi, llvm::Value* value) {
    llvm::cast<llvm::PHINode>(phi)->addIncoming(value, b_.GetInsertBlock());
  };
  take(header.state.position, next.position);
  take(header.state.number, next.number);
  for (size_t i = 0; i < next.carried.size(); ++i) {
    for (size_t r = 0; r < next.carried[i].size(); ++r) take(header.state.carried[i][r], next.carried[i][r]);
  }
  b_.CreateBr(header.block);
}

LoopState Lowering::next_turn(const LoopRange& range, LoopState state) {
  const auto add = [&](llvm::Value* value, int64_t step) {
    return b_.CreateAdd(value, llvm::ConstantInt::getSigned(b_.getInt64Ty(), step), "", false, /*HasNSW=*/true);
  };
  state.position = add(state.position, range.step);
  state.number = add(state.number, range.direction);
  return state;
}

/// Lowers the body once; what it yields is carried on.
LoopState Lowering::run_turn(const Op& op, const LoopRange& range, const LoopState& state) {
  const auto id = static_cast<AxisId>(op.int_attr("axis"));
  const Region& region = op.regions[0];
  for (size_t i = 0; i < region.args.size(); ++i) define(region.args[i], state.carried[i]);
  const AxisState outer = axis_states_[static_cast<size_t>(id)];
  enter_tile(id, state.position, state.number);
  lower_region(region);
  axis_states_[static_cast<size_t>(id)] = outer;
  LoopState next = next_turn(range, state);
  if (!status_.is_ok()) return next;
  for (size_t i = 0; i < region.args.size(); ++i) next.carried[i] = registers(region.ops.back()->operands[i]);
  return next;
}

/// Runs `turns` turns between two jumps for as long as there are so many; gives where the loop stands then.
LoopState Lowering::run_loop(const Op& op, const LoopRange& range, const LoopState& start, int64_t turns) {
  const LoopHeader header = begin_header(start, "loop");
  llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "loop.body", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "loop.done", function_);
  b_.CreateCondBr(has_turn(range, header.state.position, turns - 1), body, done);
  b_.SetInsertPoint(body);
  LoopState state = header.state;
  for (int64_t turn = 0; turn < turns && status_.is_ok(); ++turn) state = run_turn(op, range, state);
  if (status_.is_ok()) end_header(header, state);
  b_.SetInsertPoint(done);
  return header.state;
}

void Lowering::lower_loop(const Op& op) {
  if (op.int_attr("stages", 1) > 1) return lower_staged_loop(op);
  const LoopRange range = loop_range(op);
  LoopState state = loop_start(op, range);
  const int64_t turns = op.int_attr("unroll", 1);
  if (turns > 1) state = run_loop(op, range, state, turns);
  if (status_.is_ok()) state = run_loop(op, range, state, 1);
  for (size_t i = 0; i < op.results.size(); ++i) define(op.results[i], state.carried[i]);
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
