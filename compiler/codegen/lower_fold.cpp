// Folds of tuples by the author's function: in a thread and between lanes, leaving out lanes that do not exist.
#include <algorithm>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower.h"
#include "compiler/ir/combine.h"

namespace kaon::compiler::codegen {

/// The region on one register of each member. Where only one side is valid the result is that side.
Lowering::Tuple Lowering::combine_tuples(const Op& op, const Tuple& left, const Tuple& right) {
  if (left.is_none()) return right;
  if (right.is_none()) return left;
  const Region& region = op.regions[0];
  const size_t size = tuple_size(op);
  for (size_t i = 0; i < size; ++i) {
    define(region.args[i], {left.members[i]});
    define(region.args[size + i], {right.members[i]});
  }
  Tuple out;
  for (const auto& inner : region.ops) {
    if (inner->kind != OpKind::kYield) lower_op(*inner);
    if (!status_.is_ok()) return left;
  }
  for (size_t i = 0; i < size; ++i) {
    llvm::Value* value = scalar(region.ops.back()->operands[i]);
    if (right.valid != nullptr) value = b_.CreateSelect(right.valid, value, left.members[i]);
    if (left.valid != nullptr) value = b_.CreateSelect(left.valid, value, right.members[i]);
    out.members.push_back(value);
  }
  if (left.valid != nullptr && right.valid != nullptr) out.valid = b_.CreateOr(left.valid, right.valid);
  return out;
}

/// The tuple of the lane whose number differs in the bit `stride`.
Lowering::Tuple Lowering::shuffle_tuple(const Op& op, const Tuple& tuple, uint32_t stride) {
  auto shuffled = [&](llvm::Value* value, DType dtype) {
    Words words = to_words({value}, dtype);
    for (llvm::Value*& word : words) word = call(DeviceFunction::kShuffleXor, {word, b_.getInt32(stride), site()});
    return from_words(words, dtype, 1)[0];
  };
  Tuple out;
  for (size_t i = 0; i < tuple.members.size(); ++i) {
    out.members.push_back(shuffled(tuple.members[i], kernel_.type(op.regions[0].args[i]).dtype));
  }
  if (tuple.valid != nullptr) out.valid = shuffled(tuple.valid, DType::kBool);
  return out;
}

Lowering::Tuple Lowering::select_tuple(llvm::Value* condition, const Tuple& a, const Tuple& b) {
  Tuple out;
  for (size_t i = 0; i < a.members.size(); ++i)
    out.members.push_back(b_.CreateSelect(condition, a.members[i], b.members[i]));
  if (a.valid == nullptr && b.valid == nullptr) return out;
  auto flag = [&](llvm::Value* valid) { return valid == nullptr ? b_.getTrue() : valid; };
  out.valid = b_.CreateSelect(condition, flag(a.valid), flag(b.valid));
  return out;
}

/// `valid`: by register.
Lowering::Tuples Lowering::read_tuples(const Op& op, size_t first_operand, llvm::ArrayRef<llvm::Value*> valid) {
  Tuples out(valid.size());
  for (size_t reg = 0; reg < valid.size(); ++reg) {
    for (size_t i = 0; i < tuple_size(op); ++i)
      out[reg].members.push_back(registers(op.operands[first_operand + i])[reg]);
    out[reg].valid = valid[reg];
  }
  return out;
}

/// A flag's registers, null where it is always true.
Registers Lowering::read_flags(ValueId flag) const {
  Registers out = registers(flag);
  for (llvm::Value*& value : out) {
    const auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
    if (constant != nullptr && constant->isOne()) value = nullptr;
  }
  return out;
}

/// i1 per register (null: always): the lane exists as far as `dims` go. A missing lane of another dim only spoils
/// results that do not exist either.
Registers Lowering::lanes_along(ValueId value, const std::vector<int64_t>& dims) {
  const Type& type = kernel_.type(value);
  std::vector<bool> is_kept(type.axes.size(), true);
  for (int64_t dim : dims) is_kept[static_cast<size_t>(dim)] = false;
  return existence(type, kernel_.layout(value), is_kept);
}

/// Members and flag of a tuple become results `first_result` and on.
void Lowering::define_tuples(const Op& op, size_t first_result, const Tuples& tuples) {
  const size_t size = tuple_size(op);
  for (size_t i = 0; i <= size; ++i) {
    Registers values;
    for (const Tuple& tuple : tuples) {
      llvm::Value* valid = tuple.valid == nullptr ? b_.getTrue() : tuple.valid;
      values.push_back(i < size ? tuple.members[i] : valid);
    }
    define(op.results[first_result + i], std::move(values));
  }
}

void Lowering::lower_fold_thread(const Op& op) {
  const ValueId operand = op.operands[0];
  const Layout& from = kernel_.layout(operand);
  const Layout& to = kernel_.layout(op.result());
  const auto& folded = op.ints_attr("dims");
  const bool flagged = op.int_attr("flagged") != 0;
  const Registers valid = flagged ? read_flags(op.operands[tuple_size(op)]) : lanes_along(operand, folded);
  const Tuples tuples = read_tuples(op, 0, valid);
  std::vector<int> dims;
  for (int dim = 0; dim < kernel_.type(operand).rank(); ++dim) {
    if (std::find(folded.begin(), folded.end(), dim) == folded.end()) dims.push_back(dim);
  }
  std::map<std::vector<uint64_t>, Tuples> groups;
  for (uint32_t reg = 0; reg < tuples.size(); ++reg)
    groups[RegisterMap::parts_of(from, dims, reg)].push_back(tuples[reg]);
  Tuples results;
  for (uint32_t reg = 0; reg < register_count(to); ++reg) {
    Tuples group = groups[RegisterMap::parts_of(to, dims, reg)];
    if (group.empty()) return fail(op, "no operand register folds into register " + std::to_string(reg));
    for (size_t step = 1; step < group.size(); step *= 2) {
      for (size_t i = 0; i + step < group.size(); i += 2 * step)
        group[i] = combine_tuples(op, group[i], group[i + step]);
    }
    results.push_back(group[0]);
  }
  if (status_.is_ok()) define_tuples(op, 0, results);
}

void Lowering::lower_fold_lanes(const Op& op) {
  const ValueId operand = op.operands[0];
  const Layout& from = kernel_.layout(operand);
  const auto& folded = op.ints_attr("dims");
  const bool flagged = op.int_attr("flagged") != 0;
  Tuples tuples = read_tuples(op, 0, flagged ? read_flags(op.operands[tuple_size(op)]) : lanes_along(operand, folded));
  std::vector<uint32_t> strides;  // lane distances of the butterfly, one per bit
  for (int64_t dim : folded) {
    for (const Digit& digit : from.digits(static_cast<int>(dim))) {
      if (digit.where != Where::kLane) continue;
      for (uint32_t step = 1; step < digit.radix; step *= 2) strides.push_back(digit.unit * step);
    }
  }
  for (uint32_t stride : strides) {
    // Both lanes of a pair combine in one order, so that replicas are equal to the last bit.
    llvm::Value* is_right = b_.CreateICmpNE(b_.CreateAnd(tid_, b_.getInt32(stride)), b_.getInt32(0));
    for (Tuple& tuple : tuples) {
      const Tuple other = shuffle_tuple(op, tuple, stride);
      tuple = combine_tuples(op, select_tuple(is_right, other, tuple), select_tuple(is_right, tuple, other));
    }
  }
  std::vector<int> dims;
  for (int dim = 0; dim < kernel_.type(operand).rank(); ++dim) dims.push_back(dim);
  const RegisterMap map(from, dims);
  const Layout& to = kernel_.layout(op.result());
  Tuples results;
  for (uint32_t reg = 0; reg < register_count(to); ++reg) {
    const int source = map.find(RegisterMap::parts_of(to, dims, reg));
    if (source < 0) return fail(op, "no operand register becomes register " + std::to_string(reg));
    results.push_back(tuples[static_cast<size_t>(source)]);
  }
  if (status_.is_ok()) define_tuples(op, 0, results);
}

}  // namespace kaon::compiler::codegen
