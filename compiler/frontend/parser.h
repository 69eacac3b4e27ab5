// Tokens to syntax tree: one function per rule of the grammar in LANGUAGE.md, named like the rule.
#pragma once

#include <string>
#include <vector>

#include "compiler/frontend/ast.h"
#include "compiler/frontend/lexer.h"
#include "compiler/support/diagnostics.h"

namespace kaon::compiler::ast {

/// Parses all of `tokens` (which lex() made of `file`). After an error it goes on at the next statement or declaration,
/// so that one run reports them all; the tree is complete only if no error was reported.
File parse(const SourceFile& file, const std::vector<Token>& tokens, Diagnostics* diagnostics);

namespace detail {

/// The state that declarations, statements and expressions share.
class Parser {
 public:
  Parser(const SourceFile& file, const std::vector<Token>& tokens, Diagnostics* diagnostics)
      : file_(file), tokens_(tokens), diagnostics_(*diagnostics) {}
  File file();

 private:
  // Declarations: parser.cpp.
  void kernel(File* out);
  void function(File* out);
  bool params(Kernel* kernel);
  bool outputs(Kernel* kernel);
  bool param(Param* out);
  bool bodies(Kernel* kernel);
  bool constexpr_param(Param* out);
  bool tunable_param(Param* out);
  bool integer(int64_t* out, const char* where);
  bool integers(std::vector<int64_t>* out, const char* where);
  bool output(Param* out);
  bool where_clause(Kernel* kernel);
  bool head_clauses(Kernel* kernel);
  bool require_clause(Kernel* kernel);
  bool specialize_clause(Kernel* kernel);

  // Statements: parse_statement.cpp.
  bool block(std::vector<Statement>* out);
  bool statement(Statement* out);
  bool let_statement(Statement* out);
  bool for_statement(Statement* out);
  bool if_statement(Statement* out);
  bool while_statement(Statement* out);
  bool condition(Statement* out);
  bool return_statement(Statement* out);
  bool assignment(Statement* out);
  bool end_of_statement();

  // Expressions: parse_expression.cpp. Null after an error that was reported.
  ExpressionPtr expression() { return binary(0); }
  ExpressionPtr binary(int level);
  ExpressionPtr not_expression();
  ExpressionPtr unary();
  ExpressionPtr postfix();
  ExpressionPtr primary();
  ExpressionPtr parenthesised();
  ExpressionPtr call(const Token& name, ExpressionPtr receiver);
  ExpressionPtr subscript(ExpressionPtr base);
  ExpressionPtr subscript_item();
  bool call_argument(Expression* call);

  // The token stream.
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  const Token& previous() const { return tokens_[at_ == 0 ? 0 : at_ - 1]; }
  const Token& take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool at(TokenKind kind) const { return peek().kind == kind; }
  bool at_word(const char* word) const { return at(TokenKind::kName) && peek().text == word; }
  bool accept(TokenKind kind);
  bool expect(TokenKind kind, const char* where);
  bool name(Name* out, const char* what);
  /// Reports at the next token unless something was reported there already.
  bool fail(const std::string& message);
  bool fail_at(SourceRange range, const std::string& message);
  void skip_statement();
  void skip_declaration();
  /// False, with a report, when the text is nested deeper than anything a person writes.
  bool enter();
  void leave() { --depth_; }
  SourceRange range_since(uint32_t begin) const { return {begin, previous().range.end}; }
  std::string source_text(SourceRange range) const;

  const SourceFile& file_;
  const std::vector<Token>& tokens_;
  Diagnostics& diagnostics_;
  size_t at_ = 0;
  int depth_ = 0;
  uint32_t last_error_ = UINT32_MAX;
};

}  // namespace detail
}  // namespace kaon::compiler::ast
