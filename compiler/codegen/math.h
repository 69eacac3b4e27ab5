// Formulas of exp, log, sin and others in IR, for f32 and f64; no library is needed on either target.
#pragma once

#include <functional>

#include <llvm/IR/IRBuilder.h>

namespace kaon::compiler::codegen {

class Math {
 public:
  /// `type`: float or double; every argument and result has it.
  Math(llvm::IRBuilder<>& builder, llvm::Type* type) : b_(builder), type_(type) {}

  using Exp = std::function<llvm::Value*(llvm::Value*)>;

  llvm::Constant* number(double value);
  llvm::Value* exp(llvm::Value* x);   // double only: f32 has the machine's exp2
  llvm::Value* exp2(llvm::Value* x);  // double only
  llvm::Value* log(llvm::Value* x, bool is_base_2);
  /// Accurate for |x| up to most_accurate_angle(); worse by 2^-53 |x| beyond, but in [-1, 1].
  llvm::Value* sin_cos(llvm::Value* x, bool is_cos);
  llvm::Value* tanh(llvm::Value* x, const Exp& exp);
  llvm::Value* erf(llvm::Value* x, const Exp& exp);
  llvm::Value* pow(llvm::Value* x, llvm::Value* y);  // double only

 private:
  bool is_f32() const { return type_->isFloatTy(); }
  llvm::Value* mul(llvm::Value* a, llvm::Value* b);
  llvm::Value* add(llvm::Value* a, llvm::Value* b);
  llvm::Value* polynomial(llvm::Value* x, llvm::ArrayRef<double> coefficients);
  llvm::Value* absolute(llvm::Value* x);
  llvm::Value* copy_sign(llvm::Value* magnitude, llvm::Value* sign);
  llvm::Value* exp_of_reduced(llvm::Value* r, llvm::Value* n);
  llvm::Value* power_of_two(llvm::Value* n);

  llvm::IRBuilder<>& b_;
  llvm::Type* type_;
};

}  // namespace kaon::compiler::codegen
