// Ops that act on each element by itself, and views, which only number registers anew.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

DType Lowering::compute_type(DType dtype) {
  return dtype_is_float(dtype) && dtype != DType::kF64 ? DType::kF32 : dtype;
}

void Lowering::lower_unary(const Op& op) {
  UnaryFn fn{};
  const DType dtype = kernel_.type(op.operands[0]).dtype;
  if (!parse_fn(op.str_attr("fn"), &fn)) return fail(op, "unknown function " + op.str_attr("fn"));
  Registers result;
  for (llvm::Value* a : registers(op.operands[0])) result.push_back(emit_unary(fn, dtype, a));
  define(op.result(), std::move(result));
}

void Lowering::lower_binary(const Op& op) {
  BinaryFn fn{};
  const DType dtype = kernel_.type(op.operands[0]).dtype;
  if (!parse_fn(op.str_attr("fn"), &fn)) return fail(op, "unknown function " + op.str_attr("fn"));
  const Registers& a = registers(op.operands[0]);
  const Registers& b = registers(op.operands[1]);
  if (fn == BinaryFn::kDiv && dtype != DType::kF64) return define(op.result(), divide_registers(dtype, a, b));
  Registers result;
  for (size_t i = 0; i < a.size(); ++i) result.push_back(emit_binary(fn, dtype, a[i], b[i]));
  define(op.result(), std::move(result));
}

/// One divisor for several elements is inverted once: x / d becomes (x * s) * rcp(d * s), with s a power of two that
/// keeps rcp normal. Two roundings: within 2 ulp, as a division by itself is.
Registers Lowering::divide_registers(DType dtype, const Registers& a, const Registers& b) {
  std::map<llvm::Value*, int> uses;
  for (llvm::Value* divisor : b) ++uses[divisor];
  std::map<llvm::Value*, std::pair<llvm::Value*, llvm::Value*>> inverses;  // scale, reciprocal
  Registers result;
  for (size_t i = 0; i < a.size(); ++i) {
    llvm::Value* dividend = widen(a[i], dtype);
    llvm::Value* divisor = widen(b[i], dtype);
    if (uses[b[i]] < 2) {
      result.push_back(narrow(call(DeviceFunction::kDivF32, {dividend, divisor}), dtype));
      continue;
    }
    auto& [scale, reciprocal] = inverses[b[i]];
    if (reciprocal == nullptr) {
      auto number = [&](double v) { return llvm::ConstantFP::get(b_.getFloatTy(), v); };
      llvm::Value* magnitude = b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, divisor);
      scale = b_.CreateSelect(b_.CreateFCmpOGT(magnitude, number(0x1p+125)), number(0x1p-32), number(1.0));
      scale = b_.CreateSelect(b_.CreateFCmpOLT(magnitude, number(0x1p-125)), number(0x1p+32), scale);
      reciprocal = call(DeviceFunction::kRcpF32, {b_.CreateFMul(divisor, scale)});
    }
    result.push_back(narrow(b_.CreateFMul(b_.CreateFMul(dividend, scale), reciprocal), dtype));
  }
  return result;
}

llvm::Value* Lowering::emit_binary(BinaryFn fn, DType dtype, llvm::Value* a, llvm::Value* b) {
  if (fn == BinaryFn::kMin || fn == BinaryFn::kMax) return emit_min_max(dtype, a, b, fn == BinaryFn::kMax);
  if (!dtype_is_float(dtype)) return emit_int_binary(fn, dtype, a, b);
  return narrow(emit_float_binary(fn, widen(a, dtype), widen(b, dtype)), dtype);
}

llvm::Value* Lowering::emit_float_binary(BinaryFn fn, llvm::Value* a, llvm::Value* b) {
  // A product may be fused into a sum that follows: one rounding less than the program's meaning, never one more.
  llvm::IRBuilderBase::FastMathFlagGuard guard(b_);
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b_.setFastMathFlags(flags);
  switch (fn) {
    case BinaryFn::kAdd: return b_.CreateFAdd(a, b);
    case BinaryFn::kSub: return b_.CreateFSub(a, b);
    case BinaryFn::kMul: return b_.CreateFMul(a, b);
    case BinaryFn::kDiv:
      if (a->getType()->isFloatTy()) return call(DeviceFunction::kDivF32, {a, b});
      return b_.CreateFDiv(a, b);
    default: return emit_pow(a, b);
  }
}

llvm::Value* Lowering::emit_int_binary(BinaryFn fn, DType dtype, llvm::Value* a, llvm::Value* b) {
  llvm::Type* type = a->getType();
  llvm::Constant* zero = llvm::ConstantInt::get(type, 0);
  const bool is_signed = dtype_is_signed(dtype);
  switch (fn) {
    case BinaryFn::kAdd: return b_.CreateAdd(a, b);
    case BinaryFn::kSub: return b_.CreateSub(a, b);
    case BinaryFn::kMul: return b_.CreateMul(a, b);
    case BinaryFn::kAnd: return b_.CreateAnd(a, b);
    case BinaryFn::kOr: return b_.CreateOr(a, b);
    case BinaryFn::kXor: return b_.CreateXor(a, b);
    case BinaryFn::kShl:
    case BinaryFn::kShr: {
      const unsigned bits = type->getIntegerBitWidth();
      llvm::Value* fits = b_.CreateICmpULT(b, llvm::ConstantInt::get(type, bits));
      llvm::Constant* widest = llvm::ConstantInt::get(type, bits - 1);
      if (fn == BinaryFn::kShr && is_signed) return b_.CreateAShr(a, b_.CreateSelect(fits, b, widest));
      llvm::Value* safe = b_.CreateSelect(fits, b, zero);
      return b_.CreateSelect(fits, fn == BinaryFn::kShl ? b_.CreateShl(a, safe) : b_.CreateLShr(a, safe), zero);
    }
    default: break;
  }
  // floordiv and mod: no division by zero reaches the hardware, nor the one quotient that overflows.
  llvm::Constant* one = llvm::ConstantInt::get(type, 1);
  llvm::Value* by_zero = b_.CreateICmpEQ(b, zero);
  const bool wants_quotient = fn == BinaryFn::kFloorDiv;
  if (!is_signed) {
    llvm::Value* divisor = b_.CreateSelect(by_zero, one, b);
    llvm::Value* value = wants_quotient ? b_.CreateUDiv(a, divisor) : b_.CreateURem(a, divisor);
    return b_.CreateSelect(by_zero, zero, value);
  }
  llvm::Value* by_minus_one = b_.CreateICmpEQ(b, llvm::ConstantInt::getAllOnesValue(type));
  llvm::Value* divisor = b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), one, b);
  llvm::Value* quotient = b_.CreateSDiv(a, divisor);
  llvm::Value* remainder = b_.CreateSub(a, b_.CreateMul(quotient, divisor));
  llvm::Value* adjust =
      b_.CreateAnd(b_.CreateICmpNE(remainder, zero), b_.CreateICmpSLT(b_.CreateXor(remainder, divisor), zero));
  if (wants_quotient) {
    llvm::Value* floored = b_.CreateAdd(quotient, b_.CreateSExt(adjust, type));
    return b_.CreateSelect(by_zero, zero, b_.CreateSelect(by_minus_one, b_.CreateNeg(a), floored));
  }
  llvm::Value* floored = b_.CreateAdd(remainder, b_.CreateSelect(adjust, divisor, zero));
  return b_.CreateSelect(b_.CreateOr(by_zero, by_minus_one), zero, floored);
}

llvm::Value* Lowering::emit_min_max(DType dtype, llvm::Value* a, llvm::Value* b, bool is_max) {
  if (dtype == DType::kF64) {  // NVPTX has no f64 form that propagates NaN
    llvm::Value* takes_a = is_max ? b_.CreateFCmpOGT(a, b) : b_.CreateFCmpOLT(a, b);
    llvm::Value* unordered = b_.CreateFCmpUNO(a, b);
    llvm::Value* taken = b_.CreateSelect(unordered, b_.CreateFAdd(a, b), b_.CreateSelect(takes_a, a, b));
    // Equal numbers differ in the sign of zeros at most: the greater has it only if both do.
    llvm::Value* a_bits = b_.CreateBitCast(a, b_.getInt64Ty());
    llvm::Value* b_bits = b_.CreateBitCast(b, b_.getInt64Ty());
    llvm::Value* both = is_max ? b_.CreateAnd(a_bits, b_bits) : b_.CreateOr(a_bits, b_bits);
    return b_.CreateSelect(b_.CreateFCmpOEQ(a, b), b_.CreateBitCast(both, a->getType()), taken);
  }
  if (dtype_is_float(dtype)) {
    const llvm::Intrinsic::ID id = is_max ? llvm::Intrinsic::maximum : llvm::Intrinsic::minimum;
    return narrow(b_.CreateBinaryIntrinsic(id, widen(a, dtype), widen(b, dtype)), dtype);
  }
  llvm::Intrinsic::ID id = is_max ? llvm::Intrinsic::umax : llvm::Intrinsic::umin;
  if (dtype_is_signed(dtype)) id = is_max ? llvm::Intrinsic::smax : llvm::Intrinsic::smin;
  return b_.CreateBinaryIntrinsic(id, a, b);
}

void Lowering::lower_compare(const Op& op) {
  CompareFn fn{};
  const DType dtype = kernel_.type(op.operands[0]).dtype;
  if (!parse_fn(op.str_attr("fn"), &fn)) return fail(op, "unknown function " + op.str_attr("fn"));
  using P = llvm::CmpInst::Predicate;
  static constexpr P kFloat[] = {P::FCMP_OEQ, P::FCMP_UNE, P::FCMP_OLT, P::FCMP_OLE, P::FCMP_OGT, P::FCMP_OGE};
  static constexpr P kSigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_SLT, P::ICMP_SLE, P::ICMP_SGT, P::ICMP_SGE};
  static constexpr P kUnsigned[] = {P::ICMP_EQ, P::ICMP_NE, P::ICMP_ULT, P::ICMP_ULE, P::ICMP_UGT, P::ICMP_UGE};
  const auto row = static_cast<size_t>(fn);
  const P predicate = dtype_is_float(dtype) ? kFloat[row] : dtype_is_signed(dtype) ? kSigned[row] : kUnsigned[row];
  const Registers& a = registers(op.operands[0]);
  const Registers& b = registers(op.operands[1]);
  Registers result;
  for (size_t i = 0; i < a.size(); ++i)
    result.push_back(b_.CreateCmp(predicate, widen(a[i], dtype), widen(b[i], dtype)));
  define(op.result(), std::move(result));
}

void Lowering::lower_select(const Op& op) {
  const Registers& condition = registers(op.operands[0]);
  Registers result;
  for (size_t i = 0; i < condition.size(); ++i) {
    result.push_back(b_.CreateSelect(condition[i], registers(op.operands[1])[i], registers(op.operands[2])[i]));
  }
  define(op.result(), std::move(result));
}

void Lowering::lower_view(const Op& op) {
  const ValueId operand = op.operands[0];
  const Layout& from = kernel_.layout(operand);
  const Layout& to = kernel_.layout(op.result());
  const Type& from_type = kernel_.type(operand);
  const Type& to_type = kernel_.type(op.result());
  // dims[i] of the operand is own_dims[i] of the result; dimensions that are spread or dropped do not count.
  std::vector<int> dims, own_dims;
  for (int dim = 0; dim < from_type.rank(); ++dim) {
    int own = dim;
    if (op.kind == OpKind::kExpandDims && dim >= op.int_attr("dim")) own = dim + 1;
    if (op.kind == OpKind::kSqueeze) {
      if (dim == op.int_attr("dim")) continue;
      if (dim > op.int_attr("dim")) own = dim - 1;
    }
    if (op.kind == OpKind::kPermute) {
      const std::vector<int64_t>& perm = op.ints_attr("perm");
      for (size_t i = 0; i < perm.size(); ++i) {
        if (perm[i] == dim) own = static_cast<int>(i);
      }
    }
    if (from_type.axes[static_cast<size_t>(dim)] != to_type.axes[static_cast<size_t>(own)]) continue;
    dims.push_back(dim);
    own_dims.push_back(own);
  }
  const RegisterMap map(from, dims);
  Registers result;
  for (uint32_t reg = 0; reg < register_count(to); ++reg) {
    const int source = map.find(RegisterMap::parts_of(to, own_dims, reg));
    if (source < 0)
      return fail(op, "the operand holds no register for register " + std::to_string(reg) + " of the result");
    result.push_back(registers(operand)[static_cast<size_t>(source)]);
  }
  define(op.result(), std::move(result));
}

RegisterMap::RegisterMap(const Layout& layout, std::vector<int> dims) {
  for (uint32_t reg = 0; reg < register_count(layout); ++reg) registers_.try_emplace(parts_of(layout, dims, reg), reg);
}

int RegisterMap::find(const std::vector<uint64_t>& parts) const {
  auto it = registers_.find(parts);
  return it == registers_.end() ? -1 : static_cast<int>(it->second);
}

std::vector<uint64_t> RegisterMap::parts_of(const Layout& layout, const std::vector<int>& dims, uint32_t reg) {
  std::vector<uint64_t> parts;
  for (int dim : dims) parts.push_back(layout.register_part(dim, reg));
  return parts;
}

}  // namespace kaon::compiler::codegen
