// Walks expressions of a kernel's head and folds them into host integers and conditions.
#include "compiler/frontend/host_expression.h"

#include "compiler/support/near_miss.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;
using ast::TokenKind;

bool is_comparison(TokenKind op) {
  return op == TokenKind::kEqualEqual || op == TokenKind::kNotEqual || op == TokenKind::kLess ||
         op == TokenKind::kLessEqual || op == TokenKind::kGreater || op == TokenKind::kGreaterEqual;
}

Expr is_positive(const Expr& x) { return max(Expr(0), min(Expr(1), x)); }
Expr magnitude(const Expr& x) { return max(x, Expr(0) - x); }

}  // namespace

std::optional<HostInt> HostExpressions::integer(const ast::Expression& node) {
  switch (node.kind) {
    case ExpressionKind::kInteger: return HostInt(node.int_value);
    case ExpressionKind::kName: {
      auto found = names_.find(node.text);
      if (found != names_.end()) return found->second;
      std::vector<std::string> known;
      for (const auto& [name, value] : names_) known.push_back(name);
      fail(node.range, "`" + node.text + "` is no dimension, i64 parameter or constexpr of this kernel" +
                           did_you_mean(node.text, known));
      return std::nullopt;
    }
    case ExpressionKind::kUnary: {
      if (node.op != TokenKind::kMinus) break;
      std::optional<HostInt> value = integer(*node.children[0]);
      return value ? HostInt::binary(ExprOp::kSub, HostInt(0), *value) : std::nullopt;
    }
    case ExpressionKind::kBinary: return arithmetic(node);
    case ExpressionKind::kCall: return call(node);
    case ExpressionKind::kFloat:
      fail(node.range, "expected an integer, got " + node.text + "; extents are integers");
      return std::nullopt;
    default: break;
  }
  fail(node.range, "expected an integer of dimensions and constants, such as 2 * H or B + 1");
  return std::nullopt;
}

std::optional<HostInt> HostExpressions::arithmetic(const ast::Expression& node) {
  ExprOp op;
  switch (node.op) {
    case TokenKind::kPlus: op = ExprOp::kAdd; break;
    case TokenKind::kMinus: op = ExprOp::kSub; break;
    case TokenKind::kStar: op = ExprOp::kMul; break;
    case TokenKind::kSlash: op = ExprOp::kFloorDiv; break;
    case TokenKind::kPercent: op = ExprOp::kMod; break;
    default:
      fail(node.focus, "expected +, -, *, / or % between integers of dimensions, got " + token_kind_text(node.op));
      return std::nullopt;
  }
  const std::optional<HostInt> a = integer(*node.children[0]);
  const std::optional<HostInt> b = integer(*node.children[1]);
  if (!a || !b) return std::nullopt;
  if ((op == ExprOp::kFloorDiv || op == ExprOp::kMod) && b->constant() == 0) {
    fail(node.focus, "division by zero");
    return std::nullopt;
  }
  std::optional<HostInt> result = HostInt::binary(op, *a, *b);
  if (!result) fail(node.range, "this expression is too large to be evaluated at each call; simplify it");
  return result;
}

std::optional<HostInt> HostExpressions::call(const ast::Expression& node) {
  const bool is_min = node.text == "minimum";
  if ((!is_min && node.text != "maximum") || node.children.size() != 2 || !node.named.empty()) {
    fail(node.range, "expected minimum(a, b) or maximum(a, b) here, got " + node.text + "(...)");
    return std::nullopt;
  }
  const std::optional<HostInt> a = integer(*node.children[0]);
  const std::optional<HostInt> b = integer(*node.children[1]);
  return a && b ? HostInt::binary(is_min ? ExprOp::kMin : ExprOp::kMax, *a, *b) : std::nullopt;
}

std::optional<Expr> HostExpressions::condition(const ast::Expression& node, std::vector<HostInt>* natural) {
  if (node.kind == ExpressionKind::kBool) return Expr(node.int_value);
  if (node.kind == ExpressionKind::kUnary && node.op == TokenKind::kNot) {
    const std::optional<Expr> inner = condition(*node.children[0], nullptr);
    return inner ? std::optional<Expr>(Expr(1) - *inner) : std::nullopt;
  }
  if (node.kind == ExpressionKind::kBinary && (node.op == TokenKind::kAnd || node.op == TokenKind::kOr)) {
    const bool both = node.op == TokenKind::kAnd;
    const std::optional<Expr> a = condition(*node.children[0], both ? natural : nullptr);
    const std::optional<Expr> b = condition(*node.children[1], both ? natural : nullptr);
    if (!a || !b) return std::nullopt;
    return both ? min(*a, *b) : max(*a, *b);
  }
  if (node.kind == ExpressionKind::kBinary && is_comparison(node.op)) return comparison(node, natural);
  fail(node.range, "expected a condition such as N % 2 == 0");
  return std::nullopt;
}

std::optional<Expr> HostExpressions::comparison(const ast::Expression& node, std::vector<HostInt>* natural) {
  const std::optional<HostInt> a = integer(*node.children[0]);
  const std::optional<HostInt> b = integer(*node.children[1]);
  if (!a || !b) return std::nullopt;
  const std::optional<HostInt> up = HostInt::binary(ExprOp::kSub, *a, *b);    // a - b
  const std::optional<HostInt> down = HostInt::binary(ExprOp::kSub, *b, *a);  // b - a
  if (!up || !down) {
    fail(node.range, "this condition is too large to be evaluated at each call; simplify it");
    return std::nullopt;
  }
  const auto proves = [&](const HostInt& value, int64_t offset) {
    std::optional<HostInt> fact = HostInt::binary(ExprOp::kAdd, value, HostInt(offset));
    if (natural != nullptr && fact) natural->push_back(*fact);
  };
  const Expr x = up->to_expr();
  const Expr y = down->to_expr();
  switch (node.op) {
    case TokenKind::kEqualEqual: proves(*up, 0), proves(*down, 0); return Expr(1) - min(Expr(1), magnitude(x));
    case TokenKind::kNotEqual: return min(Expr(1), magnitude(x));
    case TokenKind::kLess: proves(*down, -1); return is_positive(y);
    case TokenKind::kLessEqual: proves(*down, 0); return is_positive(y + Expr(1));
    case TokenKind::kGreater: proves(*up, -1); return is_positive(x);
    default: proves(*up, 0); return is_positive(x + Expr(1));
  }
}

}  // namespace kaon::compiler
