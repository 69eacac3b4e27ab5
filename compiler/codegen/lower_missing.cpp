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
  const std::vector<const Op*> definitions = defining_ops(kernel_);
  walk(kernel_.body, [&](const Op& op, const ConstOpPlace&) {
    ReduceFn fn{};
    double wanted = 0;
    if (op.kind != OpKind::kReduceThread || !parse_fn(op.str_attr("fn"), &fn) || !float_identity(fn, &wanted)) return;
    ValueId value = op.operands[0];
    const Op* source = definitions[static_cast<size_t>(value)];
    while (source != nullptr && source->kind == OpKind::kCast && has_infinity(kernel_.type(value).dtype)) {
      value = source->operands[0];
      source = definitions[static_cast<size_t>(value)];
    }
    if (source == nullptr || source->kind != OpKind::kLoad || !has_infinity(kernel_.type(value).dtype)) return;
    fills_.try_emplace(value, wanted);
  });
}

/// Follows the fill through an op that was just lowered.
void Lowering::propagate_missing(const Op& op) {
  if (op.kind == OpKind::kLoad) {
    auto fill = fills_.find(op.result());
    if (fill != fills_.end()) missing_[op.result()] = fill->second;
  }
  if (op.kind == OpKind::kCast && has_infinity(kernel_.type(op.result()).dtype)) {
    auto known = missing_.find(op.operands[0]);
    if (known != missing_.end()) missing_[op.result()] = known->second;
  }
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
