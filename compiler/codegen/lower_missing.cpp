// What lanes that do not exist hold. They may hold anything, so a load fills them with what its reduction would
// substitute, and the substitution costs nothing.
#include <limits>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler::codegen {
namespace {

/// The identity of a reduction as a float, when every float type has it.
bool float_identity(ReduceFn fn, double* value) {
  switch (fn) {
    case ReduceFn::kSum: *value = 0; return true;
    case ReduceFn::kMax: *value = -std::numeric_limits<double>::infinity(); return true;
    case ReduceFn::kMin: *value = std::numeric_limits<double>::infinity(); return true;
    case ReduceFn::kProd: return false;
  }
  return false;
}

/// Types of which an infinity is one repeated 32-bit word at most.
bool has_infinity(DType dtype) { return dtype_is_float(dtype) && dtype != DType::kF8E4M3 && dtype != DType::kF64; }

}  // namespace

/// Gives each load the fill that the first reduction of its tile wants.
void Lowering::plan_fills() {
  definitions_ = defining_ops(kernel_);
  walk(kernel_.body, [&](const Op& op, const ConstOpPlace&) {
    ReduceFn fn{};
    double wanted = 0;
    if (op.kind != OpKind::kReduceThread || !parse_fn(op.str_attr("fn"), &fn) || !float_identity(fn, &wanted)) return;
    ValueId value = op.operands[0];
    const Op* source = definitions_[static_cast<size_t>(value)];
    const auto leads_on = [&](const Op& step) {
      const bool squares = step.kind == OpKind::kBinary && step.str_attr("fn") == "mul" && wanted == 0 &&
                           step.operands[0] == step.operands[1];
      return squares || step.kind == OpKind::kCast || step.kind == OpKind::kReuse;
    };
    while (source != nullptr && leads_on(*source) && has_infinity(kernel_.type(value).dtype)) {
      value = source->operands[0];
      source = definitions_[static_cast<size_t>(value)];
    }
    if (source == nullptr || source->kind != OpKind::kLoad || !has_infinity(kernel_.type(value).dtype)) return;
    if (source->int_attr("masked") != 0) return;  // lanes that are left out hold what the author says
    fills_.try_emplace(value, wanted);
  });
}

/// True when two values are one, or a value and what computes it anew from reused registers.
bool Lowering::are_same(ValueId a, ValueId b) const {
  for (ValueId* value : {&a, &b}) {
    for (const Op* op = definitions_[static_cast<size_t>(*value)]; op != nullptr && op->kind == OpKind::kReuse;
         op = definitions_[static_cast<size_t>(*value)]) {
      *value = op->operands[0];
    }
  }
  if (a == b) return true;
  const Op* left = definitions_[static_cast<size_t>(a)];
  const Op* right = definitions_[static_cast<size_t>(b)];
  if (left == nullptr || right == nullptr || left->kind != right->kind || left->kind == OpKind::kLoad) return false;
  if (!op_info(left->kind).pure || left->operands.empty() || left->operands.size() != right->operands.size()) return false;
  if (left->attrs != right->attrs || kernel_.type(a) != kernel_.type(b)) return false;
  for (size_t i = 0; i < left->operands.size(); ++i) {
    if (!are_same(left->operands[i], right->operands[i])) return false;
  }
  return true;
}

/// The step of a maximum over `value` that `bound` comes from by spreading and folding on; null when it does not.
const Op* Lowering::maximum_over(ValueId bound, ValueId value) const {
  for (;;) {
    const Op* op = definitions_[static_cast<size_t>(bound)];
    if (op == nullptr) return nullptr;
    switch (op->kind) {
      case OpKind::kBroadcast:
      case OpKind::kExpandDims:
      case OpKind::kSqueeze: bound = op->operands[0]; break;
      case OpKind::kReduceThread:
      case OpKind::kReduceLanes:
        if (op->str_attr("fn") != "max") return nullptr;
        if (are_same(op->operands[0], value)) return op;
        bound = op->operands[0];
        break;
      case OpKind::kSharedLoad: {
        const Op* stored = nullptr;
        int stores = 0;
        walk(kernel_.body, [&](const Op& other, const ConstOpPlace&) {
          if (other.kind != OpKind::kSharedStore || other.int_attr("buffer") != op->int_attr("buffer")) return;
          stored = &other;
          ++stores;
        });
        if (stores != 1) return nullptr;
        bound = stored->operands[0];
        break;
      }
      default: return nullptr;
    }
  }
}

/// Follows what missing lanes hold through an op that was just lowered. exp(x - max x) is the case to win: x is filled
/// with -inf for the maximum, and what follows is 0, as the sum wants it. Only a maximum of -inf gives NaN there, and
/// then every lane that exists gives NaN as well.
void Lowering::propagate_missing(const Op& op) {
  if (op.kind == OpKind::kLoad) {
    auto fill = fills_.find(op.result());
    if (fill != fills_.end()) missing_[op.result()] = {fill->second, {}};
    return;
  }
  if (op.operands.empty() || op.results.size() != 1 || !has_infinity(kernel_.type(op.result()).dtype)) return;
  const auto known = missing_.find(op.operands[0]);
  if (known == missing_.end()) return;
  const Missing before = known->second;
  const bool is_lowest = before.value < 0;
  const std::string fn = op.str_attr("fn");
  if (op.kind == OpKind::kCast || op.kind == OpKind::kReuse) missing_[op.result()] = before;
  if (op.kind == OpKind::kUnary && is_lowest && (fn == "exp" || fn == "exp2")) {
    missing_[op.result()] = {0.0, before.unless_nan_over};
  }
  if (op.kind == OpKind::kBinary && fn == "mul" && before.value == 0.0 && before.unless_nan_over.empty()) {
    const auto other = missing_.find(op.operands[1]);  // squares: 0 * 0
    if (other != missing_.end() && other->second.value == 0.0 && other->second.unless_nan_over.empty()) {
      missing_[op.result()] = before;
    }
  }
  if (op.kind == OpKind::kBinary && is_lowest && fn == "sub" && before.unless_nan_over.empty()) {
    const Op* maximum = maximum_over(op.operands[1], op.operands[0]);
    if (maximum == nullptr) return;
    for (int64_t dim : maximum->ints_attr("dims")) {  // only a full axis can be asked whether it has lanes at all
      const AxisId axis = kernel_.type(op.operands[0]).axes[static_cast<size_t>(dim)];
      if (axis == kUnitAxis || kernel_.axis(axis).kind != AxisKind::kFull) return;
    }
    missing_[op.result()] = {before.value, maximum->ints_attr("dims")};
  }
}

/// True when the missing lanes of a reduction's operand hold what it would substitute.
bool Lowering::holds_identity(const Op& op, ReduceFn fn) const {
  const auto known = missing_.find(op.operands[0]);
  double wanted = 0;
  if (known == missing_.end() || !float_identity(fn, &wanted) || known->second.value != wanted) return false;
  const std::vector<int64_t>& dims = known->second.unless_nan_over;
  return dims.empty() || dims == op.ints_attr("dims");
}

/// `folded`, or the identity when the folded axes have no lane at all and those that are missing may hold NaN.
llvm::Value* Lowering::identity_if_empty(const Op& op, llvm::Value* folded, llvm::Constant* identity) {
  const auto known = missing_.find(op.operands[0]);
  if (known == missing_.end() || known->second.unless_nan_over.empty()) return folded;
  for (int64_t dim : op.ints_attr("dims")) {
    const AxisId axis = kernel_.type(op.operands[0]).axes[static_cast<size_t>(dim)];
    llvm::Value* has_lanes = b_.CreateICmpSGT(axis_end(kernel_.axis(axis)), b_.getInt64(0));
    folded = b_.CreateSelect(has_lanes, folded, identity);
  }
  return folded;
}

/// The fill of a load as the bits of one word or narrower value, repeated for each element in it.
llvm::Constant* Lowering::fill_bits(ValueId loaded, unsigned bytes) {
  const DType dtype = kernel_.type(loaded).dtype;
  const auto fill = fills_.find(loaded);
  const double value = fill == fills_.end() ? 0.0 : fill->second;
  if (value == 0.0) return llvm::ConstantInt::get(b_.getIntNTy(bytes * 8), 0);
  llvm::Constant* constant = float_constant(dtype, value);
  llvm::APInt bits;
  if (auto* number = llvm::dyn_cast<llvm::ConstantFP>(constant)) bits = number->getValueAPF().bitcastToAPInt();
  if (auto* pattern = llvm::dyn_cast<llvm::ConstantInt>(constant)) bits = pattern->getValue();
  return llvm::ConstantInt::get(context_, llvm::APInt::getSplat(bytes * 8, bits));
}

}  // namespace kaon::compiler::codegen
