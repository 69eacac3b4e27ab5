// Reductions within a thread and between the lanes of a warp, and which thread owns an element.
#include <algorithm>
#include <limits>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

llvm::Constant* Lowering::identity(ReduceFn fn, DType dtype) {
  if (fn == ReduceFn::kSum) return int_constant(dtype, 0);
  if (fn == ReduceFn::kProd) return int_constant(dtype, 1);
  const bool is_max = fn == ReduceFn::kMax;
  if (dtype == DType::kF8E4M3) return float_constant(dtype, is_max ? -448.0 : 448.0);  // e4m3 has no infinity
  if (dtype_is_float(dtype)) {
    const double infinity = std::numeric_limits<double>::infinity();
    return float_constant(dtype, is_max ? -infinity : infinity);
  }
  if (dtype == DType::kBool) return b_.getInt1(!is_max);
  const auto bits = static_cast<unsigned>(dtype_bytes(dtype)) * 8;
  llvm::APInt value = llvm::APInt::getZero(bits);
  if (dtype_is_signed(dtype)) {
    value = is_max ? llvm::APInt::getSignedMinValue(bits) : llvm::APInt::getSignedMaxValue(bits);
  } else if (!is_max) {
    value = llvm::APInt::getAllOnes(bits);
  }
  return llvm::ConstantInt::get(context_, value);
}

llvm::Value* Lowering::combine(ReduceFn fn, DType dtype, llvm::Value* a, llvm::Value* b) {
  switch (fn) {
    case ReduceFn::kSum: return emit_binary(BinaryFn::kAdd, dtype, a, b);
    case ReduceFn::kProd: return emit_binary(BinaryFn::kMul, dtype, a, b);
    case ReduceFn::kMax: return emit_binary(BinaryFn::kMax, dtype, a, b);
    case ReduceFn::kMin: return emit_binary(BinaryFn::kMin, dtype, a, b);
  }
  return a;
}

/// The operand's registers, with the identity for lanes that do not exist.
Registers Lowering::without_missing(const Op& op, ReduceFn fn) {
  const ValueId operand = op.operands[0];
  Registers values = registers(operand);
  const DType dtype = kernel_.type(operand).dtype;
  const Type& type = kernel_.type(operand);
  // A missing lane of an axis that is not folded only spoils results that do not exist either.
  std::vector<bool> is_kept(type.axes.size(), true);
  for (int64_t dim : op.ints_attr("dims")) is_kept[static_cast<size_t>(dim)] = false;
  if (holds_identity(op, fn)) return values;
  llvm::Constant* nothing = identity(fn, dtype);
  const Registers masks = existence(type, kernel_.layout(operand), is_kept);
  for (size_t reg = 0; reg < values.size(); ++reg) {
    if (masks[reg] != nullptr) values[reg] = b_.CreateSelect(masks[reg], values[reg], nothing);
  }
  return values;
}

void Lowering::lower_reduce_thread(const Op& op) {
  ReduceFn fn{};
  if (!parse_fn(op.str_attr("fn"), &fn)) return fail(op, "unknown function " + op.str_attr("fn"));
  const ValueId operand = op.operands[0];
  const DType dtype = kernel_.type(operand).dtype;
  const Layout& from = kernel_.layout(operand);
  const Layout& to = kernel_.layout(op.result());
  const auto& folded = op.ints_attr("dims");
  std::vector<int> dims;
  for (int dim = 0; dim < kernel_.type(operand).rank(); ++dim) {
    if (std::find(folded.begin(), folded.end(), dim) == folded.end()) dims.push_back(dim);
  }
  const Registers values = without_missing(op, fn);
  std::map<std::vector<uint64_t>, Registers> groups;
  for (uint32_t reg = 0; reg < values.size(); ++reg)
    groups[RegisterMap::parts_of(from, dims, reg)].push_back(values[reg]);
  Registers result;
  for (uint32_t reg = 0; reg < register_count(to); ++reg) {
    const Registers& group = groups[RegisterMap::parts_of(to, dims, reg)];
    if (group.empty()) return fail(op, "no operand register folds into register " + std::to_string(reg));
    // Four chains: short enough a dependence for one warp to overlap, few enough registers to hold.
    constexpr size_t kChains = 4;
    Registers chains(group.begin(), group.begin() + static_cast<ptrdiff_t>(std::min(kChains, group.size())));
    for (size_t i = chains.size(); i < group.size(); ++i) {
      llvm::Value*& chain = chains[i % kChains];
      chain = combine(fn, dtype, chain, group[i]);
    }
    for (size_t step = 1; step < chains.size(); step *= 2) {
      for (size_t i = 0; i + step < chains.size(); i += 2 * step)
        chains[i] = combine(fn, dtype, chains[i], chains[i + step]);
    }
    result.push_back(holds_identity(op, fn) ? identity_if_empty(op, chains[0], identity(fn, dtype)) : chains[0]);
  }
  define(op.result(), std::move(result));
}

void Lowering::lower_reduce_lanes(const Op& op) {
  ReduceFn fn{};
  if (!parse_fn(op.str_attr("fn"), &fn)) return fail(op, "unknown function " + op.str_attr("fn"));
  const ValueId operand = op.operands[0];
  const DType dtype = kernel_.type(operand).dtype;
  const Layout& from = kernel_.layout(operand);
  Registers values = without_missing(op, fn);
  std::vector<uint32_t> strides;  // lane distances of the butterfly, one per bit
  for (int64_t dim : op.ints_attr("dims")) {
    for (const Digit& digit : from.digits(static_cast<int>(dim))) {
      if (digit.where != Where::kLane) continue;
      for (uint32_t step = 1; step < digit.radix; step *= 2) strides.push_back(digit.unit * step);
    }
  }
  std::sort(strides.rbegin(), strides.rend());
  for (uint32_t stride : strides) {
    for (llvm::Value*& value : values) {
      Words words = to_words({value}, dtype);
      for (llvm::Value*& word : words) word = call(DeviceFunction::kShuffleXor, {word, b_.getInt32(stride), site()});
      value = combine(fn, dtype, value, from_words(words, dtype, 1)[0]);
    }
  }
  std::vector<int> dims;
  for (int dim = 0; dim < kernel_.type(operand).rank(); ++dim) dims.push_back(dim);
  const RegisterMap map(from, dims);
  const Layout& to = kernel_.layout(op.result());
  Registers result;
  for (uint32_t reg = 0; reg < register_count(to); ++reg) {
    const int source = map.find(RegisterMap::parts_of(to, dims, reg));
    if (source < 0) return fail(op, "no operand register becomes register " + std::to_string(reg));
    result.push_back(values[static_cast<size_t>(source)]);
  }
  define(op.result(), std::move(result));
}

/// i1: this thread is no replica; null when no thread is.
llvm::Value* Lowering::owner_condition(const Layout& layout) {
  const uint32_t threads = (layout.empty() ? static_cast<uint32_t>(kernel_.num_warps) : layout.num_warps()) * 32;
  std::vector<std::pair<uint32_t, uint32_t>> fields;  // unit and radix of what the digits read of the thread number
  for (int dim = 0; dim < layout.rank(); ++dim) {
    for (const Digit& digit : layout.digits(dim)) {
      if (digit.where == Where::kLane) fields.push_back({digit.unit, digit.radix});
      if (digit.where == Where::kWarp) fields.push_back({digit.unit * 32, digit.radix});
    }
  }
  std::sort(fields.begin(), fields.end());
  llvm::Value* is_owner = nullptr;
  auto require_zero = [&](uint32_t unit, uint32_t end) {
    if (unit >= end) return;
    llvm::Value* index = unit == 1 ? tid_ : b_.CreateUDiv(tid_, b_.getInt32(unit));
    if (end < threads) index = b_.CreateURem(index, b_.getInt32(end / unit));
    llvm::Value* is_zero = b_.CreateICmpEQ(index, b_.getInt32(0));
    is_owner = is_owner == nullptr ? is_zero : b_.CreateAnd(is_owner, is_zero);
  };
  uint32_t covered = 1;
  for (auto [unit, radix] : fields) {
    require_zero(covered, unit);
    covered = unit * radix;
  }
  require_zero(covered, threads);
  return is_owner;
}

}  // namespace kaon::compiler::codegen
