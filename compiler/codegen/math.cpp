#include "compiler/codegen/math.h"

#include <cmath>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

namespace kaon::compiler::codegen {
namespace {

constexpr double kLn2 = 0.69314718055994531;
constexpr double kLog2E = 1.4426950408889634;

// tanh(x) / x in x^2 for |x| <= 0.55; relative error 1e-9 and 2e-20.
constexpr double kTanhF32[] = {0.99999999905480191,   -0.33333310797748948, 0.13332456536433137,
                               -0.053842319246817241, 0.021038214806276563, -0.0062336334879549586};
constexpr double kTanhF64[] = {1.0,
                               -0.33333333333333332,
                               0.13333333333333003,
                               -0.053968253968013008,
                               0.021869488527004526,
                               -0.0088632353226876809,
                               0.0035921250169695031,
                               -0.0014558047961475027,
                               0.00058982789709771213,
                               -0.00023819725675641452,
                               9.3931823612862029e-5,
                               -3.2922805392457958e-5,
                               7.4256644575218061e-6};
// erf(x) / x in x^2 for |x| <= 1; error 4e-11 and 4e-23.
constexpr double kErfF32[] = {1.1283791670615434,     -0.3761263846802871,   0.11283782495236845,
                              -0.026865430727670243,  0.0052210318078580228, -0.00084840804055351063,
                              0.00011265959025606609, -9.6670445714869964e-6};
constexpr double kErfF64[] = {1.1283791670955126,     -0.37612638903183752,   0.11283791670955126,
                              -0.026866170645131219,  0.005223977625441674,   -0.00085483270234030006,
                              0.00012055332978879484, -1.4925650236967502e-5, 1.6462110782018636e-6,
                              -1.6365768648832072e-7, 1.4806027146128752e-8,  -1.2277734486795524e-9,
                              9.3237235181530266e-11, -6.1967364287877e-12,   2.8067128195611262e-13};
// erfc(x) exp(x^2) in (x - 2) / (x + 2) for 1 <= x <= 4 (f32) and 6 (f64); error 2e-10 and 3e-21.
constexpr double kErfcF32[] = {0.25539567625190335,     -0.42718584761434302,   0.24165821109072445,
                               -0.078978523272533492,   0.0037321413513030097,  0.0069948554135999576,
                               -0.00083658997364860578, -0.00094415963408727357};
constexpr double kErfcF64[] = {
    0.25539567631050574,    -0.42718584741395839,   0.24165819424246636,     -0.07897858101573312,
    0.0037328924043450164,  0.0069974617392940577,  -0.00084714325201339312, -0.00098197703026027219,
    4.3555637774879728e-5,  0.00017436123530124898, 2.7524819609205996e-5,   -2.7580465027982318e-5,
    -1.3960863250756435e-5, 1.393439667993715e-6,   3.744373533265308e-6,    1.1995052231035316e-6,
    -3.9035732044924442e-7, -5.4941441041245587e-7, -1.6320658346679419e-7,  1.892763506249027e-7};

/// 1/0!, 1/1!, ... : `step` 2 with alternating signs gives those of sine (first 1) and cosine (first 0) in x^2.
std::vector<double> taylor(int first, int step, int count, bool alternates) {
  std::vector<double> coefficients;
  for (int i = 0; i < count; ++i) {
    const double sign = alternates && i % 2 != 0 ? -1.0 : 1.0;
    coefficients.push_back(sign / std::tgamma(first + step * i + 1.0));
  }
  return coefficients;
}

}  // namespace

llvm::Constant* Math::number(double value) { return llvm::ConstantFP::get(type_, value); }

llvm::Value* Math::mul(llvm::Value* a, llvm::Value* b) {
  llvm::Value* product = b_.CreateFMul(a, b);
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(product)) instruction->setHasAllowContract(true);
  return product;
}

llvm::Value* Math::add(llvm::Value* a, llvm::Value* b) {
  llvm::Value* sum = b_.CreateFAdd(a, b);
  if (auto* instruction = llvm::dyn_cast<llvm::Instruction>(sum)) instruction->setHasAllowContract(true);
  return sum;
}

llvm::Value* Math::polynomial(llvm::Value* x, llvm::ArrayRef<double> coefficients) {
  llvm::Value* result = number(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back())) result = add(mul(result, x), number(coefficient));
  return result;
}

llvm::Value* Math::absolute(llvm::Value* x) { return b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); }

llvm::Value* Math::copy_sign(llvm::Value* magnitude, llvm::Value* sign) {
  return b_.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, magnitude, sign);
}

/// 2^n for an i64 n within the exponents of normal doubles.
llvm::Value* Math::power_of_two(llvm::Value* n) {
  llvm::Value* biased = b_.CreateAdd(n, b_.getInt64(1023));
  return b_.CreateBitCast(b_.CreateShl(biased, 52), type_);
}

/// e^r * 2^n, |r| <= ln2 / 2; n is an integral double in [-1100, 1100]: two factors, so that subnormals come out.
llvm::Value* Math::exp_of_reduced(llvm::Value* r, llvm::Value* n) {
  llvm::Value* result = polynomial(r, taylor(0, 1, 14, /*alternates=*/false));
  llvm::Value* exponent = b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {b_.getInt64Ty(), type_}, {n});
  llvm::Value* half = b_.CreateAShr(exponent, 1);
  result = b_.CreateFMul(result, power_of_two(half));
  return b_.CreateFMul(result, power_of_two(b_.CreateSub(exponent, half)));
}

llvm::Value* Math::exp2(llvm::Value* x) {
  llvm::Value* bounded = b_.CreateSelect(b_.CreateFCmpOGT(x, number(1100)), number(1100), x);
  bounded = b_.CreateSelect(b_.CreateFCmpOLT(x, number(-1100)), number(-1100), bounded);
  llvm::Value* n = b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, bounded);
  return exp_of_reduced(b_.CreateFMul(b_.CreateFSub(bounded, n), number(kLn2)), n);
}

llvm::Value* Math::exp(llvm::Value* x) {
  llvm::Value* bounded = b_.CreateSelect(b_.CreateFCmpOGT(x, number(750)), number(750), x);
  bounded = b_.CreateSelect(b_.CreateFCmpOLT(x, number(-760)), number(-760), bounded);
  llvm::Value* n = b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, b_.CreateFMul(bounded, number(kLog2E)));
  // ln2 in two parts, the first with 20 trailing zeros: n times it is exact.
  llvm::Value* r = b_.CreateFSub(bounded, b_.CreateFMul(n, number(0x1.62e42fee00000p-1)));
  r = b_.CreateFSub(r, b_.CreateFMul(n, number(0x1.a39ef35793c76p-33)));
  return exp_of_reduced(r, n);
}

llvm::Value* Math::log(llvm::Value* x, bool is_base_2) {
  const unsigned fraction = is_f32() ? 23 : 52;
  llvm::Type* integer = b_.getIntNTy(is_f32() ? 32 : 64);
  auto bits_of = [&](uint64_t value) { return llvm::ConstantInt::get(integer, value); };
  const double smallest_normal = is_f32() ? 0x1p-126 : 0x1p-1022;
  llvm::Value* is_small = b_.CreateFCmpOLT(x, number(smallest_normal));
  llvm::Value* scaled = b_.CreateSelect(is_small, b_.CreateFMul(x, number(0x1p+54)), x);
  // x = m * 2^e with m in [sqrt(1/2), sqrt(2)): subtracting the bits of sqrt(1/2) lets e be read off.
  const uint64_t root_half = is_f32() ? 0x3f3504f3u : 0x3fe6a09e667f3bcdull;
  llvm::Value* bits = b_.CreateBitCast(scaled, integer);
  llvm::Value* exponent = b_.CreateAShr(b_.CreateSub(bits, bits_of(root_half)), fraction);
  llvm::Value* m = b_.CreateBitCast(b_.CreateSub(bits, b_.CreateShl(exponent, fraction)), type_);
  llvm::Value* e = b_.CreateSIToFP(exponent, type_);
  e = b_.CreateSelect(is_small, b_.CreateFSub(e, number(54)), e);
  // log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
  llvm::Value* s = b_.CreateFDiv(b_.CreateFSub(m, number(1)), b_.CreateFAdd(m, number(1)));
  llvm::Value* square = b_.CreateFMul(s, s);
  std::vector<double> coefficients;
  for (int i = 1; i <= (is_f32() ? 5 : 11); ++i) coefficients.push_back(2.0 / (2 * i + 1));
  llvm::Value* twice = b_.CreateFMul(s, number(2));
  llvm::Value* tail = b_.CreateFMul(b_.CreateFMul(s, square), polynomial(square, coefficients));
  llvm::Value* result = nullptr;
  if (is_base_2) {
    result = add(mul(b_.CreateFAdd(twice, tail), number(kLog2E)), e);
  } else {
    const double high = is_f32() ? 0x1.62e4p-1 : 0x1.62e42fee00000p-1;
    const double low = is_f32() ? 0x1.7f7d1cp-20 : 0x1.a39ef35793c76p-33;
    llvm::Value* small = b_.CreateFAdd(tail, b_.CreateFMul(e, number(low)));
    result = b_.CreateFAdd(b_.CreateFMul(e, number(high)), b_.CreateFAdd(twice, small));
  }
  const double infinity = HUGE_VAL;
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, number(infinity)), x, result);
  result = b_.CreateSelect(b_.CreateFCmpOEQ(x, number(0)), number(-infinity), result);
  return b_.CreateSelect(b_.CreateFCmpULT(x, number(0)), llvm::ConstantFP::getNaN(type_), result);
}

llvm::Value* Math::sin_cos(llvm::Value* x, bool is_cos) {
  // The quarter turn is taken off in f64 for both types, in three parts of which two have 33 bits.
  llvm::Type* wide = b_.getDoubleTy();
  auto f64 = [&](double value) { return llvm::ConstantFP::get(wide, value); };
  llvm::Value* angle = is_f32() ? b_.CreateFPExt(x, wide) : x;
  llvm::Value* quarters =
      b_.CreateUnaryIntrinsic(llvm::Intrinsic::roundeven, b_.CreateFMul(angle, f64(0.63661977236758134)));
  llvm::Value* r = b_.CreateFSub(angle, b_.CreateFMul(quarters, f64(1.57079632673412561417e+00)));
  r = b_.CreateFSub(r, b_.CreateFMul(quarters, f64(6.07710050630396597660e-11)));
  r = b_.CreateFSub(r, b_.CreateFMul(quarters, f64(2.02226624871116645580e-21)));
  llvm::Value* turn = b_.CreateIntrinsic(llvm::Intrinsic::fptosi_sat, {b_.getInt64Ty(), wide}, {quarters});
  if (is_cos) turn = b_.CreateAdd(turn, b_.getInt64(1));
  // Of huge arguments nothing is left but rounding, of any size; results stay in [-1, 1]. NaN passes.
  llvm::Value* is_lost = b_.CreateFCmpOGT(b_.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, r), f64(1));
  r = b_.CreateSelect(is_lost, f64(0), r);
  if (is_f32()) r = b_.CreateFPTrunc(r, type_);
  llvm::Value* square = b_.CreateFMul(r, r);
  llvm::Value* sine = polynomial(square, taylor(1, 2, is_f32() ? 5 : 9, /*alternates=*/true));
  sine = b_.CreateFMul(r, sine);
  llvm::Value* cosine = polynomial(square, taylor(0, 2, is_f32() ? 6 : 10, /*alternates=*/true));
  llvm::Value* is_odd = b_.CreateICmpNE(b_.CreateAnd(turn, b_.getInt64(1)), b_.getInt64(0));
  llvm::Value* is_negative = b_.CreateICmpNE(b_.CreateAnd(turn, b_.getInt64(2)), b_.getInt64(0));
  llvm::Value* value = b_.CreateSelect(is_odd, cosine, sine);
  return b_.CreateSelect(is_negative, b_.CreateFNeg(value), value);
}

llvm::Value* Math::tanh(llvm::Value* x, const Exp& exp) {
  llvm::Value* magnitude = absolute(x);
  llvm::Value* square = b_.CreateFMul(x, x);
  llvm::Value* small = b_.CreateFMul(x, is_f32() ? polynomial(square, kTanhF32) : polynomial(square, kTanhF64));
  llvm::Value* power = exp(b_.CreateFMul(magnitude, number(2)));
  llvm::Value* large = b_.CreateFSub(number(1), b_.CreateFDiv(number(2), b_.CreateFAdd(power, number(1))));
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, number(0.55)), small, copy_sign(large, x));
}

llvm::Value* Math::erf(llvm::Value* x, const Exp& exp) {
  llvm::Value* magnitude = absolute(x);
  llvm::Value* square = b_.CreateFMul(x, x);
  llvm::Value* small = b_.CreateFMul(x, is_f32() ? polynomial(square, kErfF32) : polynomial(square, kErfF64));
  const double reach = is_f32() ? 4 : 6;  // beyond, 1 - erf is below half of the last place
  llvm::Value* bounded = b_.CreateSelect(b_.CreateFCmpOGT(magnitude, number(reach)), number(reach), magnitude);
  llvm::Value* t = b_.CreateFDiv(b_.CreateFSub(bounded, number(2)), b_.CreateFAdd(bounded, number(2)));
  llvm::Value* scaled = is_f32() ? polynomial(t, kErfcF32) : polynomial(t, kErfcF64);
  llvm::Value* decay = exp(b_.CreateFNeg(b_.CreateFMul(bounded, bounded)));
  llvm::Value* large = b_.CreateFSub(number(1), b_.CreateFMul(scaled, decay));
  return b_.CreateSelect(b_.CreateFCmpOLT(magnitude, number(1)), small, copy_sign(large, x));
}

llvm::Value* Math::pow(llvm::Value* x, llvm::Value* y) {
  auto is_integer = [&](llvm::Value* v) {
    return b_.CreateFCmpOEQ(b_.CreateUnaryIntrinsic(llvm::Intrinsic::floor, v), v);
  };
  llvm::Value* magnitude = absolute(x);
  llvm::Value* result = exp2(b_.CreateFMul(y, log(magnitude, /*is_base_2=*/true)));
  llvm::Value* is_whole = is_integer(y);
  llvm::Value* is_odd = b_.CreateAnd(is_whole, b_.CreateNot(is_integer(b_.CreateFMul(y, number(0.5)))));
  result = b_.CreateSelect(is_odd, copy_sign(result, x), result);
  llvm::Value* has_no_value = b_.CreateAnd(b_.CreateFCmpOLT(x, number(0)), b_.CreateNot(is_whole));
  result = b_.CreateSelect(has_no_value, llvm::ConstantFP::getNaN(type_), result);
  // 1 whatever the other is, NaN included; and (-1)^inf.
  llvm::Value* is_one = b_.CreateOr(b_.CreateFCmpOEQ(x, number(1)), b_.CreateFCmpOEQ(y, number(0)));
  llvm::Value* is_edge =
      b_.CreateAnd(b_.CreateFCmpOEQ(magnitude, number(1)), b_.CreateFCmpOEQ(absolute(y), number(HUGE_VAL)));
  return b_.CreateSelect(b_.CreateOr(is_one, is_edge), number(1), result);
}

}  // namespace kaon::compiler::codegen
