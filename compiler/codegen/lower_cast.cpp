// Conversions between element types: round to nearest even, float to integer toward zero and saturating, NaN to 0.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {
namespace {

bool is_short_float(DType dtype) { return dtype_is_float(dtype) && dtype != DType::kF32 && dtype != DType::kF64; }
bool is_f8(DType dtype) { return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2; }

}  // namespace

void Lowering::lower_cast(const Op& op) {
  const ValueId operand = op.operands[0];
  define(op.result(), cast_registers(registers(operand), kernel_.type(operand).dtype, kernel_.type(op.result()).dtype));
}

/// One instruction converts two where the hardware has one; the halves meet again in the words of a vector store.
Registers Lowering::cast_registers(const Registers& from, DType from_type, DType to_type) {
  Registers result;
  size_t next = 0;
  for (; next + 1 < from.size() && converts_pairs(from_type, to_type); next += 2) {
    llvm::Value* pair = is_f8(from_type) ? e4m3_pair_to_f16(from[next], from[next + 1])
                                         : f32_pair_to(to_type, from[next], from[next + 1]);
    llvm::Type* half = b_.getIntNTy(pair->getType()->getIntegerBitWidth() / 2);
    for (llvm::Value* part : {pair, b_.CreateLShr(pair, half->getIntegerBitWidth())}) {
      llvm::Value* value = b_.CreateTrunc(part, half);
      result.push_back(is_f8(from_type) ? cast_value(value, DType::kF16, to_type) : value);
    }
  }
  for (; next < from.size(); ++next) result.push_back(cast_value(from[next], from_type, to_type));
  return result;
}

/// f8e5m2 is the upper half of f16, and needs no instruction of its own to be read.
bool Lowering::converts_pairs(DType from, DType to) const {
  const bool has_f8 = !target_.is_host && target_.sm >= 89;
  if (from == DType::kF8E4M3) return has_f8 && to != DType::kF8E4M3;
  return from == DType::kF32 && (to == DType::kF16 || to == DType::kBF16 || (is_f8(to) && has_f8));
}

llvm::Value* Lowering::f32_pair_to(DType to, llvm::Value* low, llvm::Value* high) {
  const DeviceFunction function = to == DType::kF16      ? DeviceFunction::kF32PairToF16
                                  : to == DType::kBF16   ? DeviceFunction::kF32PairToBf16
                                  : to == DType::kF8E4M3 ? DeviceFunction::kF32PairToE4M3
                                                         : DeviceFunction::kF32PairToE5M2;
  return call(function, {low, high});
}

llvm::Value* Lowering::e4m3_pair_to_f16(llvm::Value* low, llvm::Value* high) {
  llvm::Value* upper = b_.CreateShl(b_.CreateZExt(high, b_.getInt16Ty()), 8);
  return call(DeviceFunction::kE4M3PairToF16, {b_.CreateOr(b_.CreateZExt(low, b_.getInt16Ty()), upper)});
}

llvm::Value* Lowering::cast_value(llvm::Value* value, DType from, DType to) {
  if (from == to) return value;
  if (is_short_float(from)) {
    llvm::Value* wide = nullptr;
    if (from == DType::kF16) wide = call(DeviceFunction::kF16ToF32, {value});
    if (from == DType::kBF16) {
      wide = b_.CreateBitCast(b_.CreateShl(b_.CreateZExt(value, b_.getInt32Ty()), 16), b_.getFloatTy());
    }
    if (is_f8(from)) wide = f8_to_f32(value, from);
    return cast_value(wide, DType::kF32, to);
  }
  if (is_short_float(to)) {
    if (from == DType::kF64) {
      value = f64_to_f32_odd(value);
    } else if (from == DType::kI32 || from == DType::kU32 || from == DType::kI64) {
      value = f64_to_f32_odd(cast_value(value, from, DType::kF64));
    } else {
      value = cast_value(value, from, DType::kF32);
    }
    if (to == DType::kF16) return call(DeviceFunction::kF32ToF16, {value});
    if (to == DType::kBF16) return call(DeviceFunction::kF32ToBf16, {value});
    return f32_to_f8(value, to);
  }
  llvm::Type* type = element_type(to);
  const bool from_float = dtype_is_float(from);
  if (to == DType::kBool) {
    llvm::Constant* zero = llvm::Constant::getNullValue(value->getType());
    return from_float ? b_.CreateFCmpUNE(value, zero) : b_.CreateICmpNE(value, zero);
  }
  if (dtype_is_float(to)) {
    if (from_float) return to == DType::kF64 ? b_.CreateFPExt(value, type) : b_.CreateFPTrunc(value, type);
    return dtype_is_signed(from) ? b_.CreateSIToFP(value, type) : b_.CreateUIToFP(value, type);
  }
  if (from_float) {
    const auto id = dtype_is_signed(to) ? llvm::Intrinsic::fptosi_sat : llvm::Intrinsic::fptoui_sat;
    return b_.CreateIntrinsic(id, {type, value->getType()}, {value});
  }
  return b_.CreateIntCast(value, type, dtype_is_signed(from));
}

/// f64 to f32 rounded to odd: a second rounding, to a shorter type, is then as if it were the only one.
llvm::Value* Lowering::f64_to_f32_odd(llvm::Value* value) {
  llvm::Value* nearest = b_.CreateFPTrunc(value, b_.getFloatTy());
  llvm::Value* back = b_.CreateFPExt(nearest, b_.getDoubleTy());
  llvm::Value* inexact = b_.CreateFCmpONE(back, value);
  llvm::Value* too_large = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, back),
                                            b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value));
  llvm::Value* bits = b_.CreateBitCast(nearest, b_.getInt32Ty());
  llvm::Value* toward_zero = b_.CreateSub(bits, b_.CreateZExt(too_large, b_.getInt32Ty()));
  llvm::Value* odd = b_.CreateOr(toward_zero, b_.getInt32(1));
  return b_.CreateBitCast(b_.CreateSelect(inexact, odd, bits), b_.getFloatTy());
}

llvm::Value* Lowering::f8_to_f32(llvm::Value* value, DType from) {
  // Shifted into f16's place, e5m2 is f16. e4m3 has bias 7 where f16 has 15, and its one NaN is all ones.
  llvm::Value* wide = b_.CreateZExt(value, b_.getInt16Ty());
  if (from == DType::kF8E5M2) return call(DeviceFunction::kF16ToF32, {b_.CreateShl(wide, 8)});
  llvm::Value* magnitude = b_.CreateAnd(wide, b_.getInt16(0x7f));
  llvm::Value* sign = b_.CreateShl(b_.CreateAnd(wide, b_.getInt16(0x80)), 8);
  llvm::Value* half = b_.CreateOr(sign, b_.CreateShl(magnitude, 7));
  llvm::Value* scaled =
      b_.CreateFMul(call(DeviceFunction::kF16ToF32, {half}), llvm::ConstantFP::get(b_.getFloatTy(), 256.0));
  llvm::Value* is_nan = b_.CreateICmpEQ(magnitude, b_.getInt16(0x7f));
  return b_.CreateSelect(is_nan, llvm::ConstantFP::getNaN(b_.getFloatTy()), scaled);
}

/// Rounds to nearest even on the bits of |value|, and clamps to the largest finite value as the GPU's own conversions
/// do.
llvm::Value* Lowering::f32_to_f8(llvm::Value* value, DType to) {
  const bool is_e4m3 = to == DType::kF8E4M3;
  const unsigned dropped = is_e4m3 ? 20 : 21;  // of f32's 23 fraction bits
  const uint32_t bias_difference = is_e4m3 ? 120 : 112;
  llvm::Value* bits = b_.CreateBitCast(value, b_.getInt32Ty());
  llvm::Value* magnitude = b_.CreateAnd(bits, b_.getInt32(0x7fffffff));
  llvm::Value* sign = b_.CreateAnd(b_.CreateLShr(bits, 24), b_.getInt32(0x80));
  // Normal results: rebias, then round by adding half of the last place less one, plus the last bit that stays.
  llvm::Value* rebiased = b_.CreateSub(magnitude, b_.getInt32(bias_difference << 23));
  llvm::Value* last = b_.CreateAnd(b_.CreateLShr(rebiased, dropped), b_.getInt32(1));
  llvm::Value* rounded = b_.CreateAdd(b_.CreateAdd(rebiased, b_.getInt32((1u << (dropped - 1)) - 1)), last);
  llvm::Value* normal = b_.CreateLShr(rounded, dropped);
  // Subnormal results: the sum with a power of two whose last place is theirs rounds in hardware.
  const double anchor = is_e4m3 ? 0x1p+14 : 0x1p+7;  // last place 2^-9, 2^-16
  llvm::Value* absolute = b_.CreateBitCast(magnitude, b_.getFloatTy());
  llvm::Value* sum = b_.CreateFAdd(absolute, llvm::ConstantFP::get(b_.getFloatTy(), anchor));
  llvm::Value* anchor_bits = b_.CreateBitCast(llvm::ConstantFP::get(b_.getFloatTy(), anchor), b_.getInt32Ty());
  llvm::Value* subnormal = b_.CreateSub(b_.CreateBitCast(sum, b_.getInt32Ty()), anchor_bits);
  llvm::Value* is_normal = b_.CreateICmpUGE(magnitude, b_.getInt32((bias_difference + 1) << 23));
  llvm::Value* result = b_.CreateSelect(is_normal, normal, subnormal);
  llvm::Constant* largest = b_.getInt32(is_e4m3 ? 0x7e : 0x7b);
  llvm::Value* too_large = b_.CreateAnd(is_normal, b_.CreateICmpUGT(normal, largest));
  result = b_.CreateSelect(too_large, largest, result);
  llvm::Value* is_nan = b_.CreateICmpUGT(magnitude, b_.getInt32(0x7f800000));
  result = b_.CreateSelect(is_nan, b_.getInt32(0x7f), result);
  return b_.CreateTrunc(b_.CreateOr(result, sign), b_.getInt8Ty());
}

}  // namespace kaon::compiler::codegen
