// The expressions of the grammar, by precedence climbing.
#include <array>

#include "compiler/frontend/parser.h"

namespace kaon::compiler::ast::detail {
namespace {

// From loosest to tightest; `not` stands between kAnd and the comparisons.
constexpr int kComparisonLevel = 2;
struct Level {
  std::array<TokenKind, 6> operators;
  int count;
};
constexpr Level kLevels[] = {
    {{TokenKind::kOr}, 1},
    {{TokenKind::kAnd}, 1},
    {{TokenKind::kEqualEqual, TokenKind::kNotEqual, TokenKind::kLess, TokenKind::kLessEqual, TokenKind::kGreater,
      TokenKind::kGreaterEqual},
     6},
    {{TokenKind::kPipe}, 1},
    {{TokenKind::kCaret}, 1},
    {{TokenKind::kAmp}, 1},
    {{TokenKind::kShl, TokenKind::kShr}, 2},
    {{TokenKind::kPlus, TokenKind::kMinus}, 2},
    {{TokenKind::kStar, TokenKind::kSlash, TokenKind::kPercent, TokenKind::kAt}, 4},
};
constexpr int kNumLevels = static_cast<int>(std::size(kLevels));

bool is_operator_of(int level, TokenKind kind) {
  for (int i = 0; i < kLevels[level].count; ++i) {
    if (kLevels[level].operators[static_cast<size_t>(i)] == kind) return true;
  }
  return false;
}

ExpressionPtr make(ExpressionKind kind, SourceRange range) {
  auto node = std::make_unique<Expression>();
  node->kind = kind;
  node->range = node->focus = range;
  return node;
}

}  // namespace

ExpressionPtr Parser::binary(int level) {
  if (level == kNumLevels) return unary();
  if (level == kComparisonLevel && at(TokenKind::kNot)) return not_expression();
  ExpressionPtr left = binary(level + 1);
  if (left == nullptr) return nullptr;
  const int depth = depth_;  // a long chain is a deep tree, whoever walks it
  while (is_operator_of(level, peek().kind)) {
    if (!enter()) return nullptr;
    const Token& op = take();
    ExpressionPtr right = binary(level + 1);
    if (right == nullptr) return nullptr;
    ExpressionPtr node = make(ExpressionKind::kBinary, {left->range.begin, right->range.end});
    node->op = op.kind;
    node->focus = op.range;
    node->children.push_back(std::move(left));
    node->children.push_back(std::move(right));
    left = std::move(node);
    if (level == kComparisonLevel && is_operator_of(level, peek().kind)) {
      fail("comparisons do not chain; write `a < b and b < c`");
      return nullptr;
    }
  }
  depth_ = depth;
  return left;
}

ExpressionPtr Parser::not_expression() {
  const Token& op = take();
  if (!enter()) return nullptr;
  ExpressionPtr operand = binary(kComparisonLevel);
  leave();
  if (operand == nullptr) return nullptr;
  ExpressionPtr node = make(ExpressionKind::kUnary, {op.range.begin, operand->range.end});
  node->op = op.kind;
  node->focus = op.range;
  node->children.push_back(std::move(operand));
  return node;
}

ExpressionPtr Parser::unary() {
  if (!at(TokenKind::kMinus) && !at(TokenKind::kTilde) && !at(TokenKind::kPlus)) return postfix();
  if (at(TokenKind::kPlus)) {
    fail("expected a value, got `+`; there is no unary plus");
    return nullptr;
  }
  const Token& op = take();
  if (!enter()) return nullptr;
  ExpressionPtr operand = unary();
  leave();
  if (operand == nullptr) return nullptr;
  ExpressionPtr node = make(ExpressionKind::kUnary, {op.range.begin, operand->range.end});
  node->op = op.kind;
  node->focus = op.range;
  node->children.push_back(std::move(operand));
  return node;
}

ExpressionPtr Parser::postfix() {
  ExpressionPtr base = primary();
  const int depth = depth_;
  while (base != nullptr) {
    if (at(TokenKind::kLeftBracket)) {
      if (!enter()) return nullptr;
      base = subscript(std::move(base));
    } else if (at(TokenKind::kDot)) {
      if (!enter()) return nullptr;
      take();
      const Token& token = peek();
      Name member;
      if (!name(&member, "a member such as `index`, or a function, after `.`")) return nullptr;
      if (at(TokenKind::kLeftParen)) {
        base = call(token, std::move(base));
        continue;
      }
      ExpressionPtr node = make(ExpressionKind::kMember, {base->range.begin, member.range.end});
      node->text = member.text;
      node->focus = member.range;
      node->children.push_back(std::move(base));
      base = std::move(node);
    } else if (at(TokenKind::kLeftParen)) {
      fail("only functions can be called, by their name");
      return nullptr;
    } else {
      break;
    }
  }
  depth_ = depth;
  return base;
}

ExpressionPtr Parser::primary() {
  const Token& token = peek();
  switch (token.kind) {
    case TokenKind::kInteger: {
      ExpressionPtr node = make(ExpressionKind::kInteger, take().range);
      node->int_value = token.int_value;
      return node;
    }
    case TokenKind::kFloat: {
      ExpressionPtr node = make(ExpressionKind::kFloat, take().range);
      node->float_value = token.float_value;
      node->text = std::string(token.text);
      return node;
    }
    case TokenKind::kString: {
      ExpressionPtr node = make(ExpressionKind::kString, take().range);
      node->text = std::string(token.text.substr(1, token.text.size() - 2));
      return node;
    }
    case TokenKind::kTrue:
    case TokenKind::kFalse: {
      ExpressionPtr node = make(ExpressionKind::kBool, take().range);
      node->int_value = token.kind == TokenKind::kTrue ? 1 : 0;
      return node;
    }
    case TokenKind::kName: {
      take();
      if (at(TokenKind::kLeftParen)) return call(token, nullptr);
      ExpressionPtr node = make(ExpressionKind::kName, token.range);
      node->text = std::string(token.text);
      return node;
    }
    case TokenKind::kLeftParen: return parenthesised();
    case TokenKind::kNone: fail("`None` stands only in a subscript, where it adds an axis of extent 1"); return nullptr;
    case TokenKind::kIf:
      fail("`if` is not an expression; choose between values with where(condition, a, b)");
      return nullptr;
    default: fail("expected a value, got " + token_text(token)); return nullptr;
  }
}

ExpressionPtr Parser::parenthesised() {
  const SourceRange open = take().range;
  if (!enter()) return nullptr;
  ExpressionPtr tuple = make(ExpressionKind::kTuple, open);
  bool is_tuple = false;
  while (!at(TokenKind::kRightParen)) {
    ExpressionPtr item = subscript_item();  // load(x, (m, :)): what may stand in which list is for the semantics
    if (item == nullptr) return nullptr;
    tuple->children.push_back(std::move(item));
    if (!accept(TokenKind::kComma)) break;
    is_tuple = true;
  }
  leave();
  if (!at(TokenKind::kRightParen)) {
    fail("expected `)`, got " + token_text(peek()));
    diagnostics_.note(open, "to match this `(`");
    return nullptr;
  }
  take();
  if (!is_tuple && tuple->children.empty()) {
    fail_at(open, "expected a value between the parentheses");
    return nullptr;
  }
  tuple->range = tuple->focus = range_since(open.begin);
  if (is_tuple) return tuple;
  const ExpressionKind only = tuple->children[0]->kind;
  if (only == ExpressionKind::kSlice || only == ExpressionKind::kNone) {
    fail_at(tuple->children[0]->range, "expected a value between the parentheses");
    return nullptr;
  }
  ExpressionPtr inner = std::move(tuple->children[0]);
  inner->range = tuple->range;
  return inner;
}

// `receiver.name(...)` is `name(receiver, ...)`.
ExpressionPtr Parser::call(const Token& name, ExpressionPtr receiver) {
  const SourceRange open = take().range;
  if (!enter()) return nullptr;
  ExpressionPtr node = make(ExpressionKind::kCall, name.range);
  node->text = std::string(name.text);
  const uint32_t begin = receiver != nullptr ? receiver->range.begin : name.range.begin;
  if (receiver != nullptr) node->children.push_back(std::move(receiver));
  while (!at(TokenKind::kRightParen)) {
    if (!call_argument(node.get())) return nullptr;
    if (!accept(TokenKind::kComma)) break;
  }
  leave();
  if (!at(TokenKind::kRightParen)) {
    fail("expected `,` or `)` after an argument of " + node->text + ", got " + token_text(peek()));
    diagnostics_.note(open, "to match this `(`");
    return nullptr;
  }
  take();
  node->range = range_since(begin);
  return node;
}

bool Parser::call_argument(Expression* call) {
  if (at(TokenKind::kName) && peek(1).kind == TokenKind::kEqual) {
    NamedArgument argument;
    argument.name = std::string(peek().text);
    argument.name_range = take().range;
    take();
    argument.value = expression();
    if (argument.value == nullptr) return false;
    call->named.push_back(std::move(argument));
    return true;
  }
  // `tile(1:N)` takes ranges, so an argument may be a slice; which calls accept one is for the semantics.
  const bool takes_ranges = call->text == "tile" || call->text == "grid";
  ExpressionPtr value = takes_ranges ? subscript_item() : expression();
  if (value == nullptr) return false;
  if (!call->named.empty()) return fail_at(value->range, "an argument without a name cannot follow one with a name");
  call->children.push_back(std::move(value));
  return true;
}

ExpressionPtr Parser::subscript(ExpressionPtr base) {
  const SourceRange open = take().range;
  ExpressionPtr node = make(ExpressionKind::kSubscript, open);
  const uint32_t begin = base->range.begin;
  node->children.push_back(std::move(base));
  while (!at(TokenKind::kRightBracket)) {
    ExpressionPtr item = subscript_item();
    if (item == nullptr) return nullptr;
    node->children.push_back(std::move(item));
    if (!accept(TokenKind::kComma)) break;
  }
  if (!at(TokenKind::kRightBracket)) {
    fail("expected `,` or `]` in a subscript, got " + token_text(peek()));
    diagnostics_.note(open, "to match this `[`");
    return nullptr;
  }
  take();
  node->range = range_since(begin);
  node->focus = range_since(open.begin);
  return node;
}

ExpressionPtr Parser::subscript_item() {
  const uint32_t begin = peek().range.begin;
  if (at(TokenKind::kNone)) return make(ExpressionKind::kNone, take().range);
  ExpressionPtr first;
  if (!at(TokenKind::kColon)) {
    first = expression();
    if (first == nullptr || !at(TokenKind::kColon)) return first;
  }
  take();
  ExpressionPtr last;
  if (!at(TokenKind::kComma) && !at(TokenKind::kRightBracket) && !at(TokenKind::kRightParen)) {
    if (at(TokenKind::kColon)) {
      fail("slices have no step; write begin:end");
      return nullptr;
    }
    last = expression();
    if (last == nullptr) return nullptr;
  }
  if (at(TokenKind::kColon)) {
    fail("slices have no step; write begin:end");
    return nullptr;
  }
  ExpressionPtr node = make(ExpressionKind::kSlice, range_since(begin));
  node->children.push_back(std::move(first));
  node->children.push_back(std::move(last));
  return node;
}

}  // namespace kaon::compiler::ast::detail
