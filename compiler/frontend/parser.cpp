// The token stream, recovery after an error, and the declarations of the grammar.
#include "compiler/frontend/parser.h"

#include <algorithm>

namespace kaon::compiler::ast {

File parse(const SourceFile& file, const std::vector<Token>& tokens, Diagnostics* diagnostics) {
  return detail::Parser(file, tokens, diagnostics).file();
}

namespace detail {
namespace {

constexpr int kMaxDepth = 128;

}  // namespace

// -- the token stream

bool Parser::accept(TokenKind kind) {
  if (!at(kind)) return false;
  take();
  return true;
}

bool Parser::expect(TokenKind kind, const char* where) {
  if (accept(kind)) return true;
  return fail("expected " + token_kind_text(kind) + " " + where + ", got " + token_text(peek()));
}

bool Parser::name(Name* out, const char* what) {
  if (!at(TokenKind::kName)) return fail(std::string("expected ") + what + ", got " + token_text(peek()));
  out->text = std::string(peek().text);
  out->range = take().range;
  return true;
}

bool Parser::fail(const std::string& message) {
  fail_at(peek().range, message);
  if (peek().after_division && at_ > 0) {
    diagnostics_.note(previous().range, "`//` begins a comment; integers divide with `/`, which rounds down");
  }
  return false;
}

bool Parser::fail_at(SourceRange range, const std::string& message) {
  if (range.begin == last_error_) return false;
  last_error_ = range.begin;
  diagnostics_.error(range, message);
  return false;
}

bool Parser::enter() {
  ++depth_;
  if (depth_ <= kMaxDepth) return true;
  return fail("nested more than " + std::to_string(kMaxDepth) + " deep; name parts of it with `let`");
}

void Parser::skip_statement() {
  int braces = 0;
  while (!at(TokenKind::kEnd)) {
    if (braces == 0 && (at(TokenKind::kKernel) || at(TokenKind::kFn) || at(TokenKind::kRightBrace))) return;
    if (braces == 0 &&
        (at(TokenKind::kLet) || at(TokenKind::kVar) || at(TokenKind::kFor) || at(TokenKind::kIf) ||
         at(TokenKind::kWhile) || at(TokenKind::kReturn)) &&
        peek().range.begin != last_error_) {
      return;
    }
    if (at(TokenKind::kLeftBrace)) ++braces;
    if (at(TokenKind::kRightBrace) && --braces == 0) {
      take();
      return;
    }
    if (take().kind == TokenKind::kSemicolon && braces == 0) return;
  }
}

void Parser::skip_declaration() {
  while (!at(TokenKind::kEnd) && !at(TokenKind::kKernel) && !at(TokenKind::kFn)) take();
}

// Tokens joined by one blank where there was any: what a `require` looks like in a message of the runtime.
std::string Parser::source_text(SourceRange range) const {
  std::string out;
  uint32_t end = range.begin;
  for (const Token& token : tokens_) {
    if (token.range.begin < range.begin || token.range.end > range.end) continue;
    if (token.range.begin > end) out += ' ';
    out += token.text;
    end = token.range.end;
  }
  return out;
}

// -- declarations

File Parser::file() {
  File out;
  while (!at(TokenKind::kEnd)) {
    if (at(TokenKind::kKernel)) {
      kernel(&out);
    } else if (at(TokenKind::kFn)) {
      function(&out);
    } else {
      fail("expected `kernel` or `fn`, got " + token_text(peek()));
      take();
      skip_declaration();
    }
  }
  return out;
}

void Parser::kernel(File* out) {
  Kernel kernel;
  const uint32_t begin = take().range.begin;
  const bool ok = name(&kernel.name, "a name for the kernel") && params(&kernel) &&
                  expect(TokenKind::kArrow, "and the outputs after the inputs") && outputs(&kernel) &&
                  where_clause(&kernel) && head_clauses(&kernel) && bodies(&kernel);
  if (!ok) {
    skip_declaration();
    return;
  }
  kernel.range = range_since(begin);
  out->kernels.push_back(std::move(kernel));
}

void Parser::function(File* out) {
  Function function;
  const uint32_t begin = take().range.begin;
  bool ok =
      name(&function.name, "a name for the function") && expect(TokenKind::kLeftParen, "after the function's name");
  while (ok && !at(TokenKind::kRightParen)) {
    Name param;
    ok = name(&param, "a name of a parameter");
    function.params.push_back(param);
    if (ok && at(TokenKind::kColon)) {
      ok = fail("parameters of a `fn` have no types; it is typed anew at each call");
    }
    if (!accept(TokenKind::kComma)) break;
  }
  ok = ok && expect(TokenKind::kRightParen, "after the parameters");
  if (ok && at(TokenKind::kArrow)) ok = fail("a `fn` states no result type; it is typed anew at each call");
  if (!ok || !block(&function.body)) {
    skip_declaration();
    return;
  }
  function.range = range_since(begin);
  out->functions.push_back(std::move(function));
}

bool Parser::bodies(Kernel* kernel) {
  if (!at_word("impl")) return block(&kernel->body);
  while (at_word("impl")) {
    take();
    Impl impl;
    if (!name(&impl.name, "a name for this body")) return false;
    for (const Impl& other : kernel->impls) {
      if (other.name.text != impl.name.text) continue;
      fail_at(impl.name.range, "impl " + impl.name.text + " is declared twice");
      diagnostics_.note(other.name.range, "declared here first");
    }
    if (!block(&impl.body)) return false;
    kernel->impls.push_back(std::move(impl));
  }
  return true;
}

bool Parser::params(Kernel* kernel) {
  if (!expect(TokenKind::kLeftParen, "after the kernel's name")) return false;
  while (!at(TokenKind::kRightParen)) {
    Param out;
    const bool is_tunable = at_word("tunable") && peek(1).kind == TokenKind::kName;
    if (is_tunable ? !tunable_param(&out) : at(TokenKind::kConstexpr) ? !constexpr_param(&out) : !param(&out))
      return false;
    kernel->inputs.push_back(std::move(out));
    if (!accept(TokenKind::kComma)) break;
  }
  return expect(TokenKind::kRightParen, "after the inputs");
}

bool Parser::param(Param* out) {
  if (!name(&out->name, "a name of a parameter") ||
      !expect(TokenKind::kColon, "and a type after the parameter's name") ||
      !name(&out->type, "an element type such as f32")) {
    return false;
  }
  if (!at(TokenKind::kLeftBracket)) return true;
  out->kind = Param::Kind::kTensor;
  const uint32_t begin = take().range.begin;
  while (!at(TokenKind::kRightBracket)) {
    ExpressionPtr extent = expression();
    if (extent == nullptr) return false;
    out->extents.push_back(std::move(extent));
    if (!accept(TokenKind::kComma)) break;
  }
  if (!expect(TokenKind::kRightBracket, "after the extents")) return false;
  out->extents_range = range_since(begin);
  return true;
}

bool Parser::constexpr_param(Param* out) {
  take();
  out->kind = Param::Kind::kConstexpr;
  if (!name(&out->name, "a name of a constexpr parameter") ||
      !expect(TokenKind::kColon, "and a type after the parameter's name") ||
      !name(&out->type, "an integer type such as i64") ||
      !expect(TokenKind::kEqual, "and a default value, since each constexpr parameter has one")) {
    return false;
  }
  const uint32_t begin = peek().range.begin;
  if (!integer(&out->default_value, "as the default of a constexpr parameter")) return false;
  out->default_range = range_since(begin);
  return true;
}

bool Parser::integer(int64_t* out, const char* where) {
  const bool negative = accept(TokenKind::kMinus);
  if (!at(TokenKind::kInteger))
    return fail(std::string("expected an integer ") + where + ", got " + token_text(peek()));
  *out = (negative ? -1 : 1) * take().int_value;
  return true;
}

bool Parser::tunable_param(Param* out) {
  take();
  out->kind = Param::Kind::kTunable;
  if (!name(&out->name, "a name of a tunable parameter") ||
      !expect(TokenKind::kColon, "and a type after the parameter's name") ||
      !name(&out->type, "an integer type such as i64") || !expect(TokenKind::kIn, "and the values to choose from") ||
      !expect(TokenKind::kLeftParen, "before the values")) {
    return false;
  }
  return integers(&out->values, "as a value of a tunable parameter");
}

// The rest of `(1, 2)` behind its parenthesis.
bool Parser::integers(std::vector<int64_t>* out, const char* where) {
  do {
    if (at(TokenKind::kRightParen) && !out->empty()) break;
    const SourceRange range = peek().range;
    int64_t value = 0;
    if (!integer(&value, where)) return false;
    if (std::find(out->begin(), out->end(), value) != out->end())
      return fail_at(range, "value " + std::to_string(value) + " is listed twice");
    out->push_back(value);
  } while (accept(TokenKind::kComma));
  return expect(TokenKind::kRightParen, "after the values");
}

bool Parser::outputs(Kernel* kernel) {
  if (!expect(TokenKind::kLeftParen, "before the outputs")) return false;
  while (!at(TokenKind::kRightParen)) {
    Param out;
    if (!output(&out)) return false;
    kernel->outputs.push_back(std::move(out));
    if (!accept(TokenKind::kComma)) break;
  }
  return expect(TokenKind::kRightParen, "after the outputs");
}

bool Parser::output(Param* out) {
  if (at(TokenKind::kConstexpr)) return fail("an output cannot be constexpr");
  if (!param(out)) return false;
  if (accept(TokenKind::kEqual)) {
    if (!at(TokenKind::kInteger) || peek().int_value != 0) {
      return fail("expected `= 0`, got `= " + std::string(peek().text) +
                  "`; an output can be cleared before the kernel, not filled");
    }
    take();
    out->zeroed = true;
  }
  if (at_word("alias")) {
    take();
    if (!name(&out->alias, "the input that the output may share its memory with")) return false;
  }
  return true;
}

bool Parser::where_clause(Kernel* kernel) {
  if (!at_word("where")) return true;
  take();
  do {
    Generic generic;
    if (!name(&generic.name, "a name of a generic such as T") ||
        !expect(TokenKind::kIn, "and a list of types after the generic") ||
        !expect(TokenKind::kLeftParen, "before the types")) {
      return false;
    }
    do {
      if (at(TokenKind::kRightParen) && !generic.dtypes.empty()) break;
      Name dtype;
      if (!name(&dtype, "an element type such as f16")) return false;
      generic.dtypes.push_back(dtype);
    } while (accept(TokenKind::kComma));
    if (!expect(TokenKind::kRightParen, "after the types")) return false;
    kernel->generics.push_back(std::move(generic));
  } while (accept(TokenKind::kComma));
  return true;
}

bool Parser::head_clauses(Kernel* kernel) {
  for (;;) {
    if (accept(TokenKind::kRequire)) {
      if (!require_clause(kernel)) return false;
    } else if (at_word("specialize")) {
      take();
      if (!specialize_clause(kernel)) return false;
    } else {
      return true;
    }
  }
}

bool Parser::require_clause(Kernel* kernel) {
  do {
    const uint32_t begin = peek().range.begin;
    Requirement requirement;
    requirement.condition = expression();
    if (requirement.condition == nullptr) return false;
    requirement.text = source_text(range_since(begin));
    kernel->requirements.push_back(std::move(requirement));
  } while (accept(TokenKind::kComma));
  return true;
}

bool Parser::specialize_clause(Kernel* kernel) {
  do {
    Specialised out;
    if (!name(&out.name, "a dimension") || !expect(TokenKind::kIn, "and the values that it is compiled for") ||
        !expect(TokenKind::kLeftParen, "before the values") ||
        !integers(&out.values, "as a value of a specialised dimension")) {
      return false;
    }
    kernel->specialised.push_back(std::move(out));
  } while (accept(TokenKind::kComma));
  return true;
}

}  // namespace detail
}  // namespace kaon::compiler::ast
