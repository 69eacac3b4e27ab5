// Polynomial arithmetic with a bound on how large an expression may grow.
#include "compiler/ir/host_int.h"

#include <algorithm>

namespace kaon::compiler {
namespace {

constexpr size_t kMaxTerms = 8;
constexpr size_t kMaxSteps = 48;
constexpr int kMaxDepth = 12;  // a grid size is built around it, and kMaxExprDepth bounds the whole

int stack_depth(const Expr& expr) {
  int depth = 0;
  int deepest = 0;
  for (const ExprStep& step : expr.steps()) {
    depth += step.op == ExprOp::kConst || step.op == ExprOp::kSlot ? 1 : -1;
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

const char* function_text(ExprOp op) {
  switch (op) {
    case ExprOp::kFloorDiv: return "/";
    case ExprOp::kMod: return "%";
    case ExprOp::kMin: return "minimum";
    case ExprOp::kMax: return "maximum";
    default: return "ceil_div";
  }
}

}  // namespace

HostInt::HostInt(int64_t constant) {
  if (constant != 0) terms_[{}] = constant;
}

HostInt HostInt::slot(const std::string& name, int slot, bool is_natural) {
  HostInt result;
  result.terms_[{name}] = 1;
  result.atoms_[name] = {Expr::slot(slot), is_natural};
  return result;
}

std::optional<HostInt> HostInt::from_expr(const Expr& expr, const Signature& signature) {
  const std::vector<std::string> names = signature.slot_names();
  const int first_dim = signature.dim_slot(0);
  const int end_dim = signature.dim_slot(static_cast<int>(signature.dims.size()));
  std::vector<HostInt> stack;
  for (const ExprStep& step : expr.steps()) {
    if (step.op == ExprOp::kConst) {
      stack.emplace_back(step.operand);
    } else if (step.op == ExprOp::kSlot) {
      const auto at = static_cast<int>(step.operand);
      stack.push_back(slot(names[static_cast<size_t>(at)], at, at >= first_dim && at < end_dim));
    } else {
      const HostInt b = std::move(stack.back());
      stack.pop_back();
      const std::optional<HostInt> result = binary(step.op, stack.back(), b);
      if (!result) return std::nullopt;
      stack.back() = *result;
    }
  }
  return stack.back();
}

void HostInt::add_term(const Monomial& monomial, int64_t factor) {
  int64_t& sum = terms_[monomial];
  overflowed_ = overflowed_ || __builtin_add_overflow(sum, factor, &sum);
  if (sum == 0) terms_.erase(monomial);
}

// An operation that the normal form does not expand is an atom of its own.
HostInt HostInt::opaque(ExprOp op, const HostInt& a, const HostInt& b) {
  const bool infix = op == ExprOp::kFloorDiv || op == ExprOp::kMod;
  auto operand = [](const HostInt& x) { return x.terms_.size() > 1 ? "(" + x.to_string() + ")" : x.to_string(); };
  const std::string name = infix ? operand(a) + function_text(op) + operand(b)
                                 : std::string(function_text(op)) + "(" + a.to_string() + ", " + b.to_string() + ")";
  const bool divides = b.constant().value_or(0) > 0;
  HostInt result;
  result.terms_[{name}] = 1;
  result.atoms_[name] = {Expr::binary(op, a.to_expr(), b.to_expr()), op == ExprOp::kMod ? divides
                                                                     : op == ExprOp::kFloorDiv
                                                                         ? divides && a.is_natural()
                                                                         : a.is_natural() && b.is_natural()};
  return result;
}

std::optional<HostInt> HostInt::checked(HostInt result) {
  if (result.overflowed_ || result.terms_.size() > kMaxTerms) return std::nullopt;
  const Expr expr = result.to_expr();
  if (expr.steps().size() > kMaxSteps || stack_depth(expr) > kMaxDepth) return std::nullopt;
  return result;
}

std::optional<HostInt> HostInt::binary(ExprOp op, const HostInt& a, const HostInt& b) {
  const std::optional<int64_t> x = a.constant();
  const std::optional<int64_t> y = b.constant();
  if (op != ExprOp::kAdd && op != ExprOp::kSub && op != ExprOp::kMul) {
    if (x && y) return HostInt(Expr::binary(op, Expr(*x), Expr(*y)).evaluate(nullptr));
    if (a == b && (op == ExprOp::kMin || op == ExprOp::kMax)) return a;
    if (op == ExprOp::kFloorDiv && y && *y > 0) {
      if (std::optional<HostInt> quotient = a.exact_quotient(*y)) return quotient;
    }
    return checked(opaque(op, a, b));
  }
  HostInt result;
  result.atoms_ = a.atoms_;
  result.atoms_.insert(b.atoms_.begin(), b.atoms_.end());
  if (op == ExprOp::kMul) {
    for (const auto& [left, p] : a.terms_) {
      for (const auto& [right, q] : b.terms_) {
        Monomial product = left;
        product.insert(product.end(), right.begin(), right.end());
        std::sort(product.begin(), product.end());
        int64_t factor = 0;
        result.overflowed_ = result.overflowed_ || __builtin_mul_overflow(p, q, &factor);
        result.add_term(product, factor);
      }
    }
    return checked(std::move(result));
  }
  for (const auto& [monomial, factor] : a.terms_) result.add_term(monomial, factor);
  for (const auto& [monomial, factor] : b.terms_) {
    int64_t signed_factor = factor;
    if (op == ExprOp::kSub)
      result.overflowed_ = result.overflowed_ || __builtin_sub_overflow(int64_t{0}, factor, &signed_factor);
    result.add_term(monomial, signed_factor);
  }
  return checked(std::move(result));
}

std::optional<int64_t> HostInt::constant() const {
  if (terms_.empty()) return 0;
  if (terms_.size() == 1 && terms_.begin()->first.empty()) return terms_.begin()->second;
  return std::nullopt;
}

std::optional<HostInt> HostInt::exact_quotient(int64_t divisor) const {
  HostInt result = *this;
  for (auto& [monomial, factor] : result.terms_) {
    if (factor % divisor != 0) return std::nullopt;
    factor /= divisor;
  }
  return result;
}

bool HostInt::is_natural() const {
  for (const auto& [monomial, factor] : terms_) {
    if (factor < 0) return false;
    for (const std::string& name : monomial) {
      if (!atoms_.at(name).is_natural) return false;
    }
  }
  return true;
}

std::string HostInt::to_string() const {
  std::string out;
  auto append = [&](const Monomial& monomial, int64_t factor) {
    const uint64_t size = factor < 0 ? 0 - static_cast<uint64_t>(factor) : static_cast<uint64_t>(factor);
    out += out.empty() ? (factor < 0 ? "-" : "") : (factor < 0 ? " - " : " + ");
    std::string product = monomial.empty() || size != 1 ? std::to_string(size) : "";
    for (const std::string& name : monomial) product += (product.empty() ? "" : "*") + name;
    out += product;
  };
  for (const auto& [monomial, factor] : terms_) {
    if (!monomial.empty() && factor > 0) append(monomial, factor);
  }
  for (const auto& [monomial, factor] : terms_) {
    if (!monomial.empty() && factor < 0) append(monomial, factor);
  }
  if (auto constant = terms_.find({}); constant != terms_.end()) append({}, constant->second);
  return out.empty() ? "0" : out;
}

Expr HostInt::to_expr() const {
  std::optional<Expr> sum;
  auto append = [&](const Monomial& monomial, int64_t factor) {
    std::optional<Expr> product;
    const bool subtract = sum && factor < 0 && factor != INT64_MIN;
    const int64_t shown = subtract ? -factor : factor;
    if (monomial.empty() || shown != 1) product = Expr(shown);
    for (const std::string& name : monomial) {
      const Expr& atom = atoms_.at(name).expr;
      product = product ? *product * atom : atom;
    }
    sum = !sum ? *product : subtract ? *sum - *product : *sum + *product;
  };
  for (const auto& [monomial, factor] : terms_) {
    if (!monomial.empty() && factor > 0) append(monomial, factor);
  }
  for (const auto& [monomial, factor] : terms_) {
    if (!monomial.empty() && factor < 0) append(monomial, factor);
  }
  if (auto constant = terms_.find({}); constant != terms_.end()) append({}, constant->second);
  return sum.value_or(Expr(0));
}

}  // namespace kaon::compiler
