// Functions of one element, in formulas that both targets share: only exp2, log2 and the like are the machine's own.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/lower.h"
#include "compiler/codegen/math.h"

namespace kaon::compiler::codegen {

llvm::Value* Lowering::emit_unary(UnaryFn fn, DType dtype, llvm::Value* a) {
  const bool is_pattern = dtype_is_float(dtype) && a->getType()->isIntegerTy();
  llvm::Value* sign = nullptr;
  if (is_pattern)
    sign = llvm::ConstantInt::get(a->getType(), llvm::APInt::getSignMask(a->getType()->getIntegerBitWidth()));
  if (fn == UnaryFn::kNot) return b_.CreateNot(a);
  if (fn == UnaryFn::kNeg) {
    if (is_pattern) return b_.CreateXor(a, sign);
    return dtype_is_float(dtype) ? b_.CreateFNeg(a) : b_.CreateNeg(a);
  }
  if (fn == UnaryFn::kAbs) {
    if (is_pattern) return b_.CreateAnd(a, b_.CreateNot(sign));
    if (dtype_is_float(dtype)) return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, a);
    return dtype_is_signed(dtype) ? b_.CreateBinaryIntrinsic(llvm::Intrinsic::abs, a, b_.getFalse()) : a;
  }
  llvm::Value* wide = widen(a, dtype);
  if (fn == UnaryFn::kIsNan) return b_.CreateFCmpUNO(wide, wide);
  return narrow(emit_float_unary(fn, wide), dtype);
}

llvm::Value* Lowering::emit_float_unary(UnaryFn fn, llvm::Value* a) {
  const bool is_f32 = a->getType()->isFloatTy();
  Math math(b_, a->getType());
  auto exp2 = [&](llvm::Value* x) { return is_f32 ? call(DeviceFunction::kExp2F32, {x}) : math.exp2(x); };
  auto exp = [&](llvm::Value* x) {
    return is_f32 ? call(DeviceFunction::kExp2F32, {b_.CreateFMul(x, math.number(1.4426950408889634))}) : math.exp(x);
  };
  switch (fn) {
    case UnaryFn::kExp: return exp(a);
    case UnaryFn::kExp2: return exp2(a);
    case UnaryFn::kLog: return math.log(a, /*is_base_2=*/false);
    case UnaryFn::kLog2: return math.log(a, /*is_base_2=*/true);
    case UnaryFn::kSqrt: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a);
    case UnaryFn::kRsqrt:
      if (is_f32) return call(DeviceFunction::kRsqrtF32, {a});
      return b_.CreateFDiv(math.number(1.0), b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, a));
    case UnaryFn::kSigmoid: {
      llvm::Value* denominator = b_.CreateFAdd(math.number(1.0), exp(b_.CreateFNeg(a)));
      if (is_f32) return call(DeviceFunction::kRcpF32, {denominator});
      return b_.CreateFDiv(math.number(1.0), denominator);
    }
    case UnaryFn::kSin: return math.sin_cos(a, /*is_cos=*/false);
    case UnaryFn::kCos: return math.sin_cos(a, /*is_cos=*/true);
    case UnaryFn::kTanh: return math.tanh(a, exp);
    case UnaryFn::kErf: return math.erf(a, exp);
    case UnaryFn::kFloor: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, a);
    case UnaryFn::kCeil: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::ceil, a);
    case UnaryFn::kRound: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, a);
    case UnaryFn::kTrunc: return b_.CreateUnaryIntrinsic(llvm::Intrinsic::trunc, a);
    default: return a;
  }
}

/// |a|^b = 2^(b * log2 |a|), with the logarithm carried in f64 for f32, so that the product's error stays below one
/// ulp.
llvm::Value* Lowering::emit_pow(llvm::Value* a, llvm::Value* b) {
  const bool is_f32 = a->getType()->isFloatTy();
  Math wide(b_, b_.getDoubleTy());
  llvm::Value* x = is_f32 ? b_.CreateFPExt(a, b_.getDoubleTy()) : a;
  llvm::Value* y = is_f32 ? b_.CreateFPExt(b, b_.getDoubleTy()) : b;
  llvm::Value* result = wide.pow(x, y);
  return is_f32 ? b_.CreateFPTrunc(result, b_.getFloatTy()) : result;
}

}  // namespace kaon::compiler::codegen
