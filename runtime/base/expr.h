// Integer expressions over the slots of a call: grid sizes, extents of parameters, derived features.
//
// An expression is a postfix program over int64, so that the compiler can write it, a pack can carry it and the
// launch path can evaluate it without allocation. Division by zero and stack misuse are rejected by validate(),
// which a pack's reader calls once; evaluate() then needs no checks of structure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace kaon {

enum class ExprOp : uint8_t {
  kConst,     // push operand
  kSlot,      // push slots[operand]
  kAdd,       // the rest pop b, then a, and push a OP b
  kSub,
  kMul,
  kFloorDiv,  // a divided by b, rounded down; b == 0 gives 0
  kCeilDiv,   // a divided by b, rounded up; b == 0 gives 0
  kMod,       // a - floor_div(a, b) * b; b == 0 gives 0
  kMin,
  kMax,
};

struct ExprStep {
  ExprOp op = ExprOp::kConst;
  int64_t operand = 0;  // a constant, or a slot's index
};

constexpr int kMaxExprDepth = 16;

/// A non-owning view of a postfix program.
struct ExprView {
  const ExprStep* steps = nullptr;
  uint32_t count = 0;
};

/// The value of `expr` over `slots`. Never allocates or fails; the program must have passed validate().
int64_t evaluate(ExprView expr, const int64_t* slots);

/// kCorrupt unless the program leaves exactly one value, stays within kMaxExprDepth and reads slots below num_slots.
Status validate(ExprView expr, int num_slots);

/// An owning program with arithmetic that folds constants. `Expr(3)` is a constant, `Expr::slot(2)` a slot.
class Expr {
 public:
  Expr() : Expr(0) {}
  Expr(int64_t constant) : steps_{{ExprOp::kConst, constant}} {}
  static Expr slot(int index);
  static Expr from_steps(std::vector<ExprStep> steps);
  static Expr binary(ExprOp op, const Expr& a, const Expr& b);

  const std::vector<ExprStep>& steps() const { return steps_; }
  ExprView view() const { return {steps_.data(), static_cast<uint32_t>(steps_.size())}; }
  bool is_constant(int64_t* value) const;
  int64_t evaluate(const int64_t* slots) const { return kaon::evaluate(view(), slots); }
  /// Infix C++ over `names[slot]`, parenthesised where needed: "ceil_div(M, 4) * B".
  std::string to_string(const std::vector<std::string>& names) const;

  friend bool operator==(const Expr& a, const Expr& b);

 private:
  std::vector<ExprStep> steps_;
};

inline Expr operator+(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kAdd, a, b); }
inline Expr operator-(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kSub, a, b); }
inline Expr operator*(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kMul, a, b); }
inline Expr floor_div(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kFloorDiv, a, b); }
inline Expr ceil_div(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kCeilDiv, a, b); }
inline Expr mod(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kMod, a, b); }
inline Expr min(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kMin, a, b); }
inline Expr max(const Expr& a, const Expr& b) { return Expr::binary(ExprOp::kMax, a, b); }

}  // namespace kaon
