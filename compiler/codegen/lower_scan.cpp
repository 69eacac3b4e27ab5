// Scans of tuples by the author's function, one digit of the scanned dim at a time, least significant first.
//
// Before a step each total is that of the positions that agree on the digit and what is above it. The step orders the
// digit's totals, gives every prefix what comes before it, and leaves the totals of all the digit's values.
#include <algorithm>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower.h"
#include "compiler/ir/combine.h"

namespace kaon::compiler::codegen {

/// Position on the other dims, then on what is above the digit: as far as registers say.
using Key = std::vector<uint64_t>;

struct Lowering::ScanStep {
  Digit digit;
  uint64_t below = 1;  // positions of one value of the digit
  bool reverse = false;
  int dim = 0;
  std::vector<int> others;
  Tuples prefixes;                                  // by register
  std::vector<Key> keys;                            // of the prefixes
  std::vector<uint32_t> order;                      // of the prefixes: the digit's rank, if registers hold it
  std::map<Key, std::map<uint32_t, Tuple>> totals;  // by key and rank; lanes: one of rank 0
  std::map<Key, std::vector<Tuple>> carries;        // what comes before each rank; lanes: one
  std::map<Key, std::vector<Tuple>> inclusive;      // registers: totals up to each rank
  std::map<Key, Tuple> wholes;                      // the results' totals

  uint32_t rank_of(uint64_t value) const { return static_cast<uint32_t>(reverse ? digit.radix - 1 - value : value); }
};

Lowering::ScanStep Lowering::begin_scan_step(const Op& op) {
  ScanStep step;
  const size_t size = tuple_size(op);
  const Layout& layout = kernel_.layout(op.operands[0]);
  step.dim = static_cast<int>(op.int_attr("dim"));
  step.reverse = op.int_attr("reverse") != 0;
  const auto& digits = layout.digits(step.dim);
  const auto number = static_cast<size_t>(op.int_attr("digit"));
  for (size_t i = 0; i < number; ++i) step.below *= digits[i].radix;
  step.digit = digits[number];
  for (int dim = 0; dim < layout.rank(); ++dim) {
    if (dim != step.dim) step.others.push_back(dim);
  }
  auto key_of = [&](const Layout& of, uint32_t reg, uint64_t positions) {
    Key key = RegisterMap::parts_of(of, step.others, reg);
    key.push_back(of.register_part(step.dim, reg) / positions);
    return key;
  };
  step.prefixes = read_tuples(op, 0, read_flags(op.operands[size]));
  for (uint32_t reg = 0; reg < step.prefixes.size(); ++reg) {
    step.keys.push_back(key_of(layout, reg, step.below * step.digit.radix));
    step.order.push_back(step.rank_of(layout.register_part(step.dim, reg) / step.below % step.digit.radix));
  }
  const Layout& total_layout = kernel_.layout(op.operands[size + 1]);
  const Tuples totals = read_tuples(op, size + 1, read_flags(op.operands[2 * size + 1]));
  for (uint32_t reg = 0; reg < totals.size(); ++reg) {
    const uint64_t value = total_layout.register_part(step.dim, reg) % step.digit.radix;
    const uint32_t rank = step.digit.where == Where::kLane ? 0 : step.rank_of(value);
    step.totals[key_of(total_layout, reg, step.digit.radix)][rank] = totals[reg];
  }
  return step;
}

/// Defines the results: prefixes with what comes before them, and the totals.
void Lowering::finish_scan_step(const Op& op, const ScanStep& step) {
  const size_t size = tuple_size(op);
  llvm::Value* own = nullptr;  // rank of this warp
  if (step.digit.where == Where::kWarp) {
    own = b_.CreateURem(b_.CreateUDiv(tid_, b_.getInt32(32 * step.digit.unit)), b_.getInt32(step.digit.radix));
    if (step.reverse) own = b_.CreateSub(b_.getInt32(step.digit.radix - 1), own);
  }
  std::map<Key, Tuple> of_warp;
  Tuples prefixes;
  for (size_t reg = 0; reg < step.prefixes.size(); ++reg) {
    if (step.digit.where == Where::kRegister && step.below == 1) {
      prefixes.push_back({step.inclusive.at(step.keys[reg])[step.order[reg]].members, nullptr});
      continue;
    }
    const std::vector<Tuple>& carries = step.carries.at(step.keys[reg]);
    Tuple carry = carries[step.digit.where == Where::kRegister ? step.order[reg] : 0];
    if (own != nullptr) {
      Tuple& chosen = of_warp[step.keys[reg]];
      if (chosen.is_none()) {
        chosen = carries[1];
        for (uint32_t rank = 2; rank < step.digit.radix; ++rank)
          chosen = select_tuple(b_.CreateICmpUGE(own, b_.getInt32(rank)), carries[rank], chosen);
        chosen.valid = both(chosen.valid, b_.CreateICmpNE(own, b_.getInt32(0)));
      }
      carry = chosen;
    }
    prefixes.push_back(combine_tuples(op, carry, step.prefixes[reg]));
  }
  const Layout& to = kernel_.layout(op.results[size + 1]);
  Tuples totals;
  for (uint32_t reg = 0; reg < register_count(to); ++reg) {
    Key key = RegisterMap::parts_of(to, step.others, reg);
    key.push_back(to.register_part(step.dim, reg));
    const auto found = step.wholes.find(key);
    if (found == step.wholes.end()) return fail(op, "no total for register " + std::to_string(reg));
    totals.push_back(found->second);
  }
  if (!status_.is_ok()) return;
  define_tuples(op, 0, prefixes);
  define_tuples(op, size + 1, totals);
}

/// The first step: every lane is a prefix and a total of its own. What a prefix is where its lane does not exist is
/// nobody's concern, but a total must leave such lanes out; unless they are behind all others, and no total that they
/// are in reaches a lane that exists. Later steps find a digit's totals in this thread, and fold those before a rank
/// one by one.
void Lowering::lower_scan_thread(const Op& op) {
  if (op.int_attr("first") != 0) {
    const auto dim = static_cast<size_t>(op.int_attr("dim"));
    const AxisId axis = kernel_.type(op.operands[0]).axes[dim];
    const bool are_last = op.int_attr("reverse") == 0 && kernel_.axis(axis).origin == kNoValue;
    const Registers always(register_count(kernel_.layout(op.operands[0])), nullptr);
    const Registers exist = are_last ? always : lanes_along(op.operands[0], {op.int_attr("dim")});
    define_tuples(op, 0, read_tuples(op, 0, always));
    return define_tuples(op, tuple_size(op) + 1, read_tuples(op, 0, exist));
  }
  ScanStep step = begin_scan_step(op);
  for (const auto& [key, totals] : step.totals) {
    Tuple before;
    for (uint32_t rank = 0; rank < step.digit.radix; ++rank) {
      const auto found = totals.find(rank);
      if (found == totals.end()) return fail(op, "a thread lacks total " + std::to_string(rank) + " of the digit");
      step.carries[key].push_back(before);
      before = combine_tuples(op, before, found->second);
      step.inclusive[key].push_back(before);
    }
    step.wholes[key] = before;
  }
  finish_scan_step(op, step);
}

/// Bit by bit of the lane: a lane whose bit says later takes the other's total before what it has carried so far.
void Lowering::lower_scan_lanes(const Op& op) {
  ScanStep step = begin_scan_step(op);
  for (const auto& [key, totals] : step.totals) {
    Tuple total = totals.at(0), carry;
    for (uint32_t bit = 1; bit < step.digit.radix; bit *= 2) {
      const uint32_t stride = step.digit.unit * bit;
      llvm::Value* masked = b_.CreateAnd(tid_, b_.getInt32(stride));
      llvm::Value* is_later =
          step.reverse ? b_.CreateICmpEQ(masked, b_.getInt32(0)) : b_.CreateICmpNE(masked, b_.getInt32(0));
      const Tuple other = shuffle_tuple(op, total, stride);
      carry = combine_tuples(op, {other.members, both(other.valid, is_later)}, carry);
      total = combine_tuples(op, select_tuple(is_later, other, total), select_tuple(is_later, total, other));
    }
    step.carries[key] = {carry};
    step.wholes[key] = total;
  }
  finish_scan_step(op, step);
}

}  // namespace kaon::compiler::codegen
