// Tokens of the textual IR, and a reader that expects them and reports the first that differs.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::compiler {

enum class TokenKind : uint8_t {
  kName,     // softmax, f16, axis_info
  kNumber,   // 12, -0.5, 1e-06, inf, nan are names or numbers by context
  kString,   // "..."; text is without quotes and escapes
  kValue,    // %12; text is "12"
  kSymbol,   // one of { } [ ] ( ) , : = + - * | @ ?
  kNames,    // the rest of a line after '#'
  kEnd,
};

struct Token {
  TokenKind kind = TokenKind::kEnd;
  std::string text;
  size_t begin = 0;  // byte offsets in the text
  size_t end = 0;
};

/// Splits `text`. kInvalidArgument with "line:column: ..." at a character that starts no token.
Result<std::vector<Token>> tokenize(std::string_view text);

/// Walks over tokens. After the first failed expectation status() says what was expected and got, and where; every
/// later call fails without changing it.
class TokenReader {
 public:
  TokenReader(std::string_view text, std::vector<Token> tokens) : text_(text), tokens_(std::move(tokens)) {}

  const Status& status() const { return status_; }
  bool ok() const { return status_.is_ok(); }
  const Token& peek(size_t ahead = 0) const;
  size_t position() const { return position_; }
  void set_position(size_t position) { position_ = position; }

  bool at(std::string_view symbol_or_name) const;
  /// Takes the next token if it is that symbol or name.
  bool accept(std::string_view symbol_or_name);
  bool expect(std::string_view symbol_or_name);
  /// A name or, for names that need it, a string.
  std::string expect_name(const char* what);
  std::string expect_string();
  int64_t expect_integer(const char* what);
  /// "[-] 12": an integer with an optional sign; the same for floats with expect_number.
  bool at_number() const;

  Token take();
  /// Reports `what` at the next token: "3:14: expected <what>, got <token>".
  void fail(const std::string& expected);
  /// Reports a message at token `position`.
  void fail_at(size_t position, const std::string& message);
  std::string_view text(size_t begin, size_t end) const { return text_.substr(begin, end - begin); }

 private:
  std::string_view text_;
  std::vector<Token> tokens_;
  size_t position_ = 0;
  Status status_;
};

}  // namespace kaon::compiler
