// How postfix expressions over slots are checked, evaluated, folded and printed.
#include "runtime/base/expr.h"

#include <limits>

#include "runtime/base/text.h"

namespace kaon {
namespace {

int64_t wrap(uint64_t value) { return static_cast<int64_t>(value); }
uint64_t bits(int64_t value) { return static_cast<uint64_t>(value); }

// Quotient rounded towards minus infinity. The one overflowing pair wraps as the other operations do.
int64_t floor_div_int(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrap(0 - bits(a));
  int64_t quotient = a / b;
  return quotient - (a % b != 0 && ((a < 0) != (b < 0)) ? 1 : 0);
}

int64_t ceil_div_int(int64_t a, int64_t b) {
  if (b == 0) return 0;
  if (b == -1) return wrap(0 - bits(a));
  int64_t quotient = a / b;
  return quotient + (a % b != 0 && ((a < 0) == (b < 0)) ? 1 : 0);
}

int64_t apply(ExprOp op, int64_t a, int64_t b) {
  switch (op) {
    case ExprOp::kAdd: return wrap(bits(a) + bits(b));
    case ExprOp::kSub: return wrap(bits(a) - bits(b));
    case ExprOp::kMul: return wrap(bits(a) * bits(b));
    case ExprOp::kFloorDiv: return floor_div_int(a, b);
    case ExprOp::kCeilDiv: return ceil_div_int(a, b);
    case ExprOp::kMod: return b == 0 ? 0 : wrap(bits(a) - bits(floor_div_int(a, b)) * bits(b));
    case ExprOp::kMin: return a < b ? a : b;
    case ExprOp::kMax: return a > b ? a : b;
    case ExprOp::kConst:
    case ExprOp::kSlot: break;
  }
  return 0;
}

std::string literal(int64_t value) {
  if (value == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807 - 1)";
  return std::to_string(value);
}

// Binding strength of printed text: a sum needs parentheses inside a product.
enum Strength { kSum, kProduct, kAtom };

struct Printed {
  std::string text;
  Strength strength;
};

std::string at_least(const Printed& p, Strength strength) {
  return p.strength >= strength ? p.text : cat("(", p.text, ")");
}

const char* function_name(ExprOp op) {
  switch (op) {
    case ExprOp::kFloorDiv: return "floor_div";
    case ExprOp::kCeilDiv: return "ceil_div";
    case ExprOp::kMod: return "mod";
    case ExprOp::kMin: return "min";
    default: return "max";
  }
}

Printed join(ExprOp op, const Printed& a, const Printed& b) {
  switch (op) {
    case ExprOp::kAdd: return {cat(a.text, " + ", at_least(b, kProduct)), kSum};
    case ExprOp::kSub: return {cat(a.text, " - ", at_least(b, kProduct)), kSum};
    case ExprOp::kMul: return {cat(at_least(a, kProduct), " * ", at_least(b, kAtom)), kProduct};
    default: return {cat(function_name(op), "(", a.text, ", ", b.text, ")"), kAtom};
  }
}

// The operand that `a OP b` equals by itself, or null: x + 0, x * 1, x / 1.
const Expr* neutral(ExprOp op, const Expr& a, const Expr& b) {
  int64_t value = 0;
  if (b.is_constant(&value)) {
    if (value == 0 && (op == ExprOp::kAdd || op == ExprOp::kSub)) return &a;
    if (value == 1 && (op == ExprOp::kMul || op == ExprOp::kFloorDiv || op == ExprOp::kCeilDiv)) return &a;
  }
  if (a.is_constant(&value)) {
    if (value == 0 && op == ExprOp::kAdd) return &b;
    if (value == 1 && op == ExprOp::kMul) return &b;
  }
  if ((op == ExprOp::kMin || op == ExprOp::kMax) && a == b) return &a;
  return nullptr;
}

}  // namespace

int64_t evaluate(ExprView expr, const int64_t* slots) {
  int64_t stack[kMaxExprDepth];
  int top = -1;
  for (uint32_t i = 0; i < expr.count; ++i) {
    const ExprStep& step = expr.steps[i];
    if (step.op == ExprOp::kConst) {
      stack[++top] = step.operand;
    } else if (step.op == ExprOp::kSlot) {
      stack[++top] = slots[step.operand];
    } else {
      stack[top - 1] = apply(step.op, stack[top - 1], stack[top]);
      --top;
    }
  }
  return stack[0];
}

Status validate(ExprView expr, int num_slots) {
  int depth = 0;
  for (uint32_t i = 0; i < expr.count; ++i) {
    const ExprStep& step = expr.steps[i];
    std::string place = cat("expression step ", i, ": ");
    if (step.op > ExprOp::kMax) {
      return make_status(Code::kCorrupt, place, "unknown operation ", static_cast<int>(step.op));
    }
    if (step.op == ExprOp::kSlot && (step.operand < 0 || step.operand >= num_slots)) {
      return make_status(Code::kCorrupt, place, "reads slot ", step.operand, ", expected one below ", num_slots);
    }
    if (step.op == ExprOp::kConst || step.op == ExprOp::kSlot) {
      if (++depth > kMaxExprDepth) {
        return make_status(Code::kCorrupt, place, "needs a deeper stack than ", kMaxExprDepth);
      }
    } else {
      if (depth < 2) return make_status(Code::kCorrupt, place, "pops 2 values, has ", depth);
      --depth;
    }
  }
  if (depth != 1) return make_status(Code::kCorrupt, "expression leaves ", depth, " values, expected 1");
  return Status::ok();
}

Expr Expr::slot(int index) { return from_steps({{ExprOp::kSlot, index}}); }

Expr Expr::from_steps(std::vector<ExprStep> steps) {
  Expr result;
  result.steps_ = std::move(steps);
  return result;
}

bool Expr::is_constant(int64_t* value) const {
  if (steps_.size() != 1 || steps_[0].op != ExprOp::kConst) return false;
  *value = steps_[0].operand;
  return true;
}

Expr Expr::binary(ExprOp op, const Expr& a, const Expr& b) {
  int64_t x = 0, y = 0;
  if (a.is_constant(&x) && b.is_constant(&y)) return Expr(apply(op, x, y));
  if (const Expr* same = neutral(op, a, b)) return *same;
  Expr result = a;
  result.steps_.insert(result.steps_.end(), b.steps_.begin(), b.steps_.end());
  result.steps_.push_back({op, 0});
  return result;
}

std::string Expr::to_string(const std::vector<std::string>& names) const {
  std::vector<Printed> stack;
  for (const ExprStep& step : steps_) {
    if (step.op == ExprOp::kConst) {
      stack.push_back({literal(step.operand), kAtom});
    } else if (step.op == ExprOp::kSlot) {
      size_t index = static_cast<size_t>(step.operand);
      stack.push_back({index < names.size() ? names[index] : cat("slot", step.operand), kAtom});
    } else {
      if (stack.size() < 2) return "<invalid expression>";
      Printed b = std::move(stack.back());
      stack.pop_back();
      stack.back() = join(step.op, stack.back(), b);
    }
  }
  return stack.size() == 1 ? stack[0].text : "<invalid expression>";
}

bool operator==(const Expr& a, const Expr& b) {
  if (a.steps_.size() != b.steps_.size()) return false;
  for (size_t i = 0; i < a.steps_.size(); ++i) {
    if (a.steps_[i].op != b.steps_[i].op || a.steps_[i].operand != b.steps_[i].operand) return false;
  }
  return true;
}

}  // namespace kaon
