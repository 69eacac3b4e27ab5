// Characters to tokens.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/diagnostics.h"
#include "compiler/support/source.h"

namespace kaon::compiler::ast {

enum class TokenKind : uint8_t {
  kEnd,  // end of the text; the last token, exactly once
  kName,
  kInteger,
  kFloat,
  kString,  // text has its quotes
#define KAON_KEYWORD(enumerator, text) enumerator,
#define KAON_PUNCTUATION(enumerator, text) enumerator,
#include "compiler/frontend/tokens.inc"
#undef KAON_KEYWORD
#undef KAON_PUNCTUATION
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  SourceRange range;
  std::string_view text;        // into the SourceFile
  int64_t int_value = 0;        // kInteger
  double float_value = 0;       // kFloat
  bool after_division = false;  // before it stands a comment, on the line of the token before, that reads as `// 2;`
};

/// How a message names a token kind: "`(`", "a name".
std::string token_kind_text(TokenKind kind);
/// How a message names a token: "`foo`", "the end of the file".
std::string token_text(const Token& token);

/// All tokens of `file`, ending in kEnd. Characters that begin no token are reported and skipped.
std::vector<Token> lex(const SourceFile& file, Diagnostics* diagnostics);

}  // namespace kaon::compiler::ast
