// Splits the textual IR into tokens and words its syntax errors.
#include "compiler/ir/lexer.h"

#include <cctype>
#include <charconv>

namespace kaon::compiler {
namespace {

std::string place_text(std::string_view text, size_t offset) {
  size_t line = 1, line_start = 0;
  for (size_t i = 0; i < offset && i < text.size(); ++i) {
    if (text[i] == '\n') ++line, line_start = i + 1;
  }
  return std::to_string(line) + ":" + std::to_string(offset - line_start + 1) + ": ";
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }
bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) || c == '_'; }
bool is_name_part(char c) { return is_name_start(c) || is_digit(c) || c == '.' || c == '$'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  Result<std::vector<Token>> run() {
    while (skip_blank()) {
      Status read = read_token();
      if (!read) return read;
    }
    push(TokenKind::kEnd, "", text_.size(), text_.size());
    return std::move(tokens_);
  }

 private:
  char at(size_t offset) const { return offset < text_.size() ? text_[offset] : '\0'; }
  void push(TokenKind kind, std::string text, size_t begin, size_t end) {
    tokens_.push_back(Token{kind, std::move(text), begin, end});
    cursor_ = end;
  }

  bool skip_blank() {
    while (cursor_ < text_.size()) {
      if (std::isspace(static_cast<unsigned char>(text_[cursor_]))) {
        ++cursor_;
      } else if (at(cursor_) == '/' && at(cursor_ + 1) == '/') {
        while (cursor_ < text_.size() && text_[cursor_] != '\n') ++cursor_;
      } else {
        return true;
      }
    }
    return false;
  }

  size_t scan(size_t from, bool (*accepts)(char)) const {
    while (from < text_.size() && accepts(text_[from])) ++from;
    return from;
  }

  Status read_token() {
    const size_t begin = cursor_;
    const char c = text_[begin];
    if (is_name_start(c)) {
      const size_t end = scan(begin, is_name_part);
      push(TokenKind::kName, std::string(text_.substr(begin, end - begin)), begin, end);
      return Status::ok();
    }
    if (is_digit(c)) return read_number(begin);
    if (c == '"') return read_string(begin);
    if (c == '%') {
      const size_t end = scan(begin + 1, is_digit);
      if (end == begin + 1) return error(begin, "expected a value's number after '%'");
      push(TokenKind::kValue, std::string(text_.substr(begin + 1, end - begin - 1)), begin, end);
      return Status::ok();
    }
    if (c == '#') {
      size_t end = begin;
      while (end < text_.size() && text_[end] != '\n') ++end;
      push(TokenKind::kNames, std::string(text_.substr(begin + 1, end - begin - 1)), begin, end);
      return Status::ok();
    }
    if (std::string_view("{}[](),:=+-*|@").find(c) != std::string_view::npos) {
      push(TokenKind::kSymbol, std::string(1, c), begin, begin + 1);
      return Status::ok();
    }
    return error(begin, std::string("unexpected character '") + c + "'");
  }

  // Digits, then letters and dots: 12, 1.5, 1e-06, and 8r1 of a layout, whose text is read again as a whole.
  Status read_number(size_t begin) {
    size_t end = begin;
    while (end < text_.size()) {
      const bool is_exponent_sign =
          (text_[end] == '-' || text_[end] == '+') && end > begin && text_[end - 1] == 'e' && is_digit(at(end + 1));
      if (!is_name_part(text_[end]) && !is_exponent_sign) break;
      ++end;
    }
    push(TokenKind::kNumber, std::string(text_.substr(begin, end - begin)), begin, end);
    return Status::ok();
  }

  Status read_string(size_t begin) {
    std::string content;
    for (size_t i = begin + 1; i < text_.size() && text_[i] != '\n'; ++i) {
      if (text_[i] == '"') {
        push(TokenKind::kString, std::move(content), begin, i + 1);
        return Status::ok();
      }
      if (text_[i] == '\\') {
        ++i;
        content += at(i) == 'n' ? '\n' : at(i);
      } else {
        content += text_[i];
      }
    }
    return error(begin, "string without an end");
  }

  Status error(size_t offset, const std::string& message) const {
    return Status(Code::kInvalidArgument, place_text(text_, offset) + message);
  }

  std::string_view text_;
  size_t cursor_ = 0;
  std::vector<Token> tokens_;
};

std::string token_text(const Token& token) {
  switch (token.kind) {
    case TokenKind::kEnd: return "the end";
    case TokenKind::kString: return "\"" + token.text + "\"";
    case TokenKind::kValue: return "'%" + token.text + "'";
    case TokenKind::kNames: return "'#'";
    default: return "'" + token.text + "'";
  }
}

}  // namespace

Result<std::vector<Token>> tokenize(std::string_view text) { return Lexer(text).run(); }

const Token& TokenReader::peek(size_t ahead) const {
  return tokens_[position_ + ahead < tokens_.size() ? position_ + ahead : tokens_.size() - 1];
}

bool TokenReader::at(std::string_view symbol_or_name) const {
  const Token& token = peek();
  return (token.kind == TokenKind::kSymbol || token.kind == TokenKind::kName) && token.text == symbol_or_name;
}

bool TokenReader::accept(std::string_view symbol_or_name) {
  if (!ok() || !at(symbol_or_name)) return false;
  take();
  return true;
}

bool TokenReader::expect(std::string_view symbol_or_name) {
  if (accept(symbol_or_name)) return true;
  fail("'" + std::string(symbol_or_name) + "'");
  return false;
}

std::string TokenReader::expect_name(const char* what) {
  const TokenKind kind = peek().kind;
  if (ok() && (kind == TokenKind::kName || kind == TokenKind::kString)) return take().text;
  fail(what);
  return "";
}

std::string TokenReader::expect_string() {
  if (ok() && peek().kind == TokenKind::kString) return take().text;
  fail("a string");
  return "";
}

int64_t TokenReader::expect_integer(const char* what) {
  const size_t start = position_;
  const bool negative = accept("-");
  const std::string digits = (negative ? "-" : "") + peek().text;
  int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (ok() && peek().kind == TokenKind::kNumber && error == std::errc() && end == digits.data() + digits.size()) {
    take();
    return value;
  }
  position_ = start;
  fail(what);
  return 0;
}

bool TokenReader::at_number() const {
  const Token& token = at("-") ? peek(1) : peek();
  const bool is_word = token.kind == TokenKind::kName && (token.text == "inf" || token.text == "nan");
  return token.kind == TokenKind::kNumber || is_word;
}

Token TokenReader::take() {
  Token token = peek();
  if (position_ + 1 < tokens_.size()) ++position_;
  return token;
}

void TokenReader::fail(const std::string& expected) {
  fail_at(position_, "expected " + expected + ", got " + token_text(peek()));
}

void TokenReader::fail_at(size_t position, const std::string& message) {
  if (!ok()) return;
  const size_t offset = tokens_[position < tokens_.size() ? position : tokens_.size() - 1].begin;
  status_ = Status(Code::kInvalidArgument, place_text(text_, offset) + message);
}

}  // namespace kaon::compiler
