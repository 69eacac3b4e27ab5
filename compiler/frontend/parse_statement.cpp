// The statements of the grammar.
#include "compiler/frontend/parser.h"

namespace kaon::compiler::ast::detail {
namespace {

bool is_assignment(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEqual:
    case TokenKind::kPlusEqual:
    case TokenKind::kMinusEqual:
    case TokenKind::kStarEqual:
    case TokenKind::kSlashEqual:
    case TokenKind::kPercentEqual:
    case TokenKind::kAmpEqual:
    case TokenKind::kPipeEqual:
    case TokenKind::kCaretEqual:
    case TokenKind::kShlEqual:
    case TokenKind::kShrEqual: return true;
    default: return false;
  }
}

/// Calls that are made for what they do.
bool is_effect(const Expression& node) {
  if (node.kind != ExpressionKind::kCall) return false;
  return node.text == "store" || node.text == "print" || node.text == "assert" || node.text.rfind("atomic_", 0) == 0;
}

}  // namespace

bool Parser::block(std::vector<Statement>* out) {
  if (!expect(TokenKind::kLeftBrace, "before the body")) return false;
  const SourceRange open = previous().range;
  if (!enter()) return false;
  while (!at(TokenKind::kRightBrace)) {
    if (at(TokenKind::kEnd) || at(TokenKind::kKernel) || at(TokenKind::kFn)) {
      fail("expected `}`, got " + token_text(peek()));
      diagnostics_.note(open, "to match this `{`");
      leave();
      return false;
    }
    Statement next;
    const size_t before = at_;
    const int depth = depth_;
    const bool ok = statement(&next);
    depth_ = depth;  // an error leaves rules without closing what they opened
    if (ok) {
      out->push_back(std::move(next));
    } else {
      skip_statement();
      if (at_ == before) take();
    }
  }
  take();
  leave();
  return true;
}

bool Parser::statement(Statement* out) {
  const uint32_t begin = peek().range.begin;
  bool ok = false;
  switch (peek().kind) {
    case TokenKind::kLet:
    case TokenKind::kVar: ok = let_statement(out); break;
    case TokenKind::kFor: ok = for_statement(out); break;
    case TokenKind::kReturn: ok = return_statement(out); break;
    case TokenKind::kIf: ok = if_statement(out); break;
    case TokenKind::kWhile: ok = while_statement(out); break;
    case TokenKind::kElse: return fail("`else` without `if`; it follows the `}` of one");
    case TokenKind::kRequire: return fail("`require` belongs before the kernel's body, after `where`");
    case TokenKind::kConstexpr:
      return fail("a constexpr parameter belongs to the kernel's inputs; constants in a body are `let`");
    case TokenKind::kSemicolon: return fail("empty statement; delete this `;`");
    default: ok = assignment(out);
  }
  out->range = range_since(begin);
  return ok;
}

bool Parser::let_statement(Statement* out) {
  out->kind = take().kind == TokenKind::kLet ? StatementKind::kLet : StatementKind::kVar;
  do {
    Name target;
    if (!name(&target, "a name")) return false;
    out->names.push_back(target);
  } while (accept(TokenKind::kComma));
  if (at(TokenKind::kColon)) return fail("a name takes the type of its value; cast the value instead, as in f32(...)");
  if (!expect(TokenKind::kEqual, "and a value after the name")) return false;
  out->value = expression();
  return out->value != nullptr && end_of_statement();
}

bool Parser::for_statement(Statement* out) {
  take();
  out->kind = StatementKind::kFor;
  do {
    Name variable;
    if (!name(&variable, "a loop variable")) return false;
    out->names.push_back(variable);
  } while (accept(TokenKind::kComma));
  if (!expect(TokenKind::kIn, "and tile(...) or another kind of loop after the loop variables")) return false;
  out->value = expression();
  if (out->value == nullptr) return false;
  if (out->value->kind != ExpressionKind::kCall) {
    return fail_at(out->value->range, "expected tile(...), jagged_tile(...), grid(...) or static_range(...) after `in`");
  }
  return block(&out->body);
}

bool Parser::if_statement(Statement* out) {
  take();
  out->kind = StatementKind::kIf;
  if (!condition(out)) return false;
  if (!accept(TokenKind::kElse)) return true;
  if (!at(TokenKind::kIf)) return block(&out->else_body);
  if (!enter()) return false;
  Statement next;
  const uint32_t begin = peek().range.begin;
  if (!if_statement(&next)) return false;
  next.range = range_since(begin);
  out->else_body.push_back(std::move(next));
  leave();
  return true;
}

bool Parser::while_statement(Statement* out) {
  take();
  out->kind = StatementKind::kWhile;
  return condition(out);
}

/// What `if` and `while` share: a condition and a block.
bool Parser::condition(Statement* out) {
  out->value = expression();
  if (out->value == nullptr) return false;
  if (at(TokenKind::kEqual)) return fail("`=` assigns and has no value; compare with `==`");
  return block(&out->body);
}

bool Parser::return_statement(Statement* out) {
  take();
  out->kind = StatementKind::kReturn;
  if (at(TokenKind::kSemicolon)) return fail("expected a value after `return`");
  out->value = expression();
  if (out->value == nullptr) return false;
  if (at(TokenKind::kComma)) {
    auto tuple = std::make_unique<Expression>();
    tuple->kind = ExpressionKind::kTuple;
    tuple->range = out->value->range;
    tuple->children.push_back(std::move(out->value));
    while (accept(TokenKind::kComma)) {
      tuple->children.push_back(expression());
      if (tuple->children.back() == nullptr) return false;
    }
    tuple->range = tuple->focus = range_since(tuple->range.begin);
    out->value = std::move(tuple);
  }
  return end_of_statement();
}

bool Parser::assignment(Statement* out) {
  out->kind = StatementKind::kAssign;
  out->target = expression();
  if (out->target == nullptr) return false;
  if (is_effect(*out->target) && !is_assignment(peek().kind)) {
    out->kind = StatementKind::kCall;
    out->value = std::move(out->target);
    return end_of_statement();
  }
  if (!is_assignment(peek().kind)) {
    if (at(TokenKind::kSemicolon))
      return fail_at(out->target->range, "this value is not used; a statement declares, assigns or stores");
    return fail("expected `=` after the target of an assignment, got " + token_text(peek()));
  }
  out->op_range = peek().range;
  out->op = take().kind;
  out->value = expression();
  return out->value != nullptr && end_of_statement();
}

bool Parser::end_of_statement() {
  if (accept(TokenKind::kSemicolon)) return true;
  if (at(TokenKind::kEqual)) return fail("`=` assigns and has no value; compare with `==`");
  return fail("expected `;` at the end of the statement, got " + token_text(peek()));
}

}  // namespace kaon::compiler::ast::detail
