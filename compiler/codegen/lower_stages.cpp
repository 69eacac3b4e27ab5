// Loops in stages: the loads of a turn are issued so many turns before it, into registers, and wait for nothing in
// between.
//
// The body is repeated once for each stage. Turn t uses the registers of slot t modulo the number of stages, and issues
// the loads of the turn that is stages - 1 ahead into the slot that the turn before it has used up. So no register
// moves from slot to slot, which would wait for its load, and each jump out of the middle leaves nothing to be done.
#include <algorithm>

#include "compiler/codegen/lower.h"
#include "compiler/ir/fetch_ahead.h"

namespace kaon::compiler::codegen {
namespace {

/// What the loads ahead need of the body, in its order, the loads among it.
std::vector<const Op*> slice_of_loads(const Kernel& kernel, const Op& loop) {
  std::vector<const Op*> needed;
  for (const auto& op : loop.regions[0].ops) {
    if (op->int_attr("ahead") == 0) continue;
    for (const Op* each : fetch_slice(kernel, loop, *op)) needed.push_back(each);
  }
  std::vector<const Op*> ordered;
  for (const auto& op : loop.regions[0].ops) {
    if (std::find(needed.begin(), needed.end(), op.get()) != needed.end()) ordered.push_back(op.get());
  }
  return ordered;
}

}  // namespace

/// Issues the loads of the turn at `state`, if the loop has it.
Lowering::Fetched Lowering::fetch_turn(const Op& op, const std::vector<const Op*>& slice, const LoopRange& range,
                                       const LoopState& state) {
  const auto id = static_cast<AxisId>(op.int_attr("axis"));
  const AxisState outer = axis_states_[static_cast<size_t>(id)];
  enter_tile(id, state.position, state.number);
  llvm::Value* exists = has_turn(range, state.position);
  Fetched fetched;
  for (const Op* step : slice) {
    if (step->int_attr("ahead") != 0) {
      fetched.push_back(fetch_ahead(*step, exists));
    } else {
      lower_op(*step);
      propagate_missing(*step);
    }
  }
  axis_states_[static_cast<size_t>(id)] = outer;
  return fetched;
}

void Lowering::lower_staged_loop(const Op& op) {
  const auto stages = static_cast<size_t>(op.int_attr("stages"));
  const std::vector<const Op*> slice = slice_of_loads(kernel_, op);
  const LoopRange range = loop_range(op);
  LoopState state = loop_start(op, range);

  std::vector<Fetched> slots(stages);
  LoopState ahead = state;  // of the next turn to be fetched
  for (size_t slot = 0; slot + 1 < stages; ++slot) {
    slots[slot] = fetch_turn(op, slice, range, ahead);
    ahead = next_turn(range, std::move(ahead));
  }

  // The loop carries what is in flight behind what the program carries.
  const size_t num_carried = state.carried.size();
  for (const Fetched& slot : slots) {
    for (const LoadedWords& load : slot) {
      for (const Words& words : load) state.carried.emplace_back(words.begin(), words.end());
    }
  }
  const LoopHeader header = begin_header(state, "stages");
  state = header.state;
  size_t next = num_carried;
  for (Fetched& slot : slots) {
    for (LoadedWords& load : slot) {
      for (Words& words : load) words.assign(state.carried[next].begin(), state.carried[next].end()), ++next;
    }
  }
  state.carried.resize(num_carried);

  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "stages.done", function_);
  std::vector<std::pair<llvm::BasicBlock*, std::vector<Registers>>> exits;
  for (size_t turn = 0; turn < stages; ++turn) {
    exits.emplace_back(b_.GetInsertBlock(), state.carried);
    llvm::BasicBlock* body = llvm::BasicBlock::Create(context_, "stages.turn", function_);
    b_.CreateCondBr(has_turn(range, state.position), body, done);
    b_.SetInsertPoint(body);
    LoopState later = state;
    for (size_t i = 0; i + 1 < stages; ++i) later = next_turn(range, std::move(later));
    slots[(turn + stages - 1) % stages] = fetch_turn(op, slice, range, later);
    size_t load = 0;
    for (const Op* step : slice) {
      if (step->int_attr("ahead") != 0) fetched_[step] = slots[turn][load++];
    }
    state = run_turn(op, range, state);
    if (!status_.is_ok()) return;
  }
  fetched_.clear();
  for (size_t slot = 0; slot + 1 < stages; ++slot) {
    for (const LoadedWords& load : slots[slot]) {
      for (const Words& words : load) state.carried.emplace_back(words.begin(), words.end());
    }
  }
  end_header(header, state);

  b_.SetInsertPoint(done);
  for (size_t i = 0; i < op.results.size(); ++i) {
    Registers result;
    for (size_t r = 0; r < exits[0].second[i].size(); ++r) {
      llvm::PHINode* phi = b_.CreatePHI(exits[0].second[i][r]->getType(), static_cast<unsigned>(stages));
      for (const auto& [block, carried] : exits) phi->addIncoming(carried[i][r], block);
      result.push_back(phi);
    }
    define(op.results[i], std::move(result));
  }
}

}  // namespace kaon::compiler::codegen
