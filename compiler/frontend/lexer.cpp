// Splits a text into tokens and says what to write for what other languages have.
#include "compiler/frontend/lexer.h"

#include <cctype>
#include <cerrno>
#include <cstdlib>

namespace kaon::compiler::ast {
namespace {

struct Spelling {
  TokenKind kind;
  std::string_view text;
};

constexpr Spelling kKeywords[] = {
#define KAON_KEYWORD(enumerator, text) {TokenKind::enumerator, text},
#include "compiler/frontend/tokens.inc"
#undef KAON_KEYWORD
};

constexpr Spelling kPunctuation[] = {
#define KAON_PUNCTUATION(enumerator, text) {TokenKind::enumerator, text},
#include "compiler/frontend/tokens.inc"
#undef KAON_PUNCTUATION
};

// What people of other languages write, and what to write here.
struct Foreign {
  std::string_view text;
  const char* mend;
  TokenKind meant;
};
constexpr Foreign kForeign[] = {
    {"&&", "`&&` is not an operator here; write `and`", TokenKind::kAnd},
    {"||", "`||` is not an operator here; write `or`", TokenKind::kOr},
    {"**", "`**` is not an operator here; write pow(a, b)", TokenKind::kStar},
    {"++", "`++` is not an operator here; write `+= 1`", TokenKind::kPlusEqual},
};

bool is_name_start(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_name_part(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// A comment such as `// 2;` or `// (a + b)]` after an operand was meant as Python's floor division.
bool reads_as_operand(std::string_view comment) {
  const size_t begin = comment.find_first_not_of(' ');
  if (begin == std::string_view::npos) return false;
  const std::string_view rest = comment.substr(begin);
  const bool begins = is_name_part(rest[0]) || rest[0] == '(';
  const size_t end = rest.find_first_of(";)],");
  return begins && end != std::string_view::npos && rest.substr(0, end).find_last_of(' ') == std::string_view::npos;
}

class Lexer {
 public:
  Lexer(const SourceFile& file, Diagnostics* diagnostics) : text_(file.text()), diagnostics_(*diagnostics) {}

  std::vector<Token> run() {
    for (;;) {
      skip_blank();
      if (at_ >= text_.size()) break;
      if (is_name_start(text_[at_])) {
        name();
      } else if (is_digit(text_[at_])) {
        number();
      } else if (text_[at_] == '"') {
        string();
      } else {
        punctuation();
      }
    }
    push(TokenKind::kEnd, at_);
    tokens_.back().range.end = tokens_.back().range.begin + 1;  // a place to put a caret
    return std::move(tokens_);
  }

 private:
  void skip_blank() {
    bool line_ended = false;
    after_division_ = false;
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '/' && text_.substr(at_, 2) == "//") {
        const size_t begin = at_ + 2;
        while (at_ < text_.size() && text_[at_] != '\n') ++at_;
        if (!line_ended) after_division_ = reads_as_operand(text_.substr(begin, at_ - begin));
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n') {
        if (c == '\n') line_ended = true;
        ++at_;
      } else {
        return;
      }
    }
  }

  SourceRange range_from(size_t begin) const { return {static_cast<uint32_t>(begin), static_cast<uint32_t>(at_)}; }

  Token& push(TokenKind kind, size_t begin) {
    Token token;
    token.kind = kind;
    token.range = range_from(begin);
    token.text = text_.substr(begin, at_ - begin);
    token.after_division = after_division_;
    tokens_.push_back(token);
    return tokens_.back();
  }

  void name() {
    const size_t begin = at_;
    while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    for (const Spelling& keyword : kKeywords) {
      if (keyword.text == word) {
        push(keyword.kind, begin);
        return;
      }
    }
    push(TokenKind::kName, begin);
  }

  void number() {
    const size_t begin = at_;
    const bool hex = text_.substr(at_, 2) == "0x" || text_.substr(at_, 2) == "0X";
    bool is_float = false;
    if (hex) {
      at_ += 2;
      while (at_ < text_.size() && (std::isxdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_'))
        ++at_;
    } else {
      is_float = decimal();
    }
    if (at_ < text_.size() && is_name_part(text_[at_])) {
      const size_t suffix = at_;
      while (at_ < text_.size() && is_name_part(text_[at_])) ++at_;
      diagnostics_.error(range_from(begin),
                         "number '" + std::string(text_.substr(begin, at_ - begin)) + "' ends in '" +
                             std::string(text_.substr(suffix, at_ - suffix)) +
                             "'; a literal takes the type of what it meets, or write a cast such as f32(1)");
      push(is_float ? TokenKind::kFloat : TokenKind::kInteger, begin);
      return;
    }
    std::string digits;
    for (char c : text_.substr(begin, at_ - begin)) {
      if (c != '_') digits += c;
    }
    is_float ? float_token(begin, digits) : integer_token(begin, digits, hex);
  }

  // Consumes digits, a fraction and an exponent; true when it is a float. "1.begin" is no fraction.
  bool decimal() {
    bool is_float = false;
    auto digits = [&] {
      while (at_ < text_.size() && (is_digit(text_[at_]) || text_[at_] == '_')) ++at_;
    };
    digits();
    if (at_ < text_.size() && text_[at_] == '.' && !(at_ + 1 < text_.size() && is_name_start(text_[at_ + 1]))) {
      is_float = true;
      ++at_;
      digits();
    }
    if (at_ < text_.size() && (text_[at_] == 'e' || text_[at_] == 'E')) {
      size_t next = at_ + 1;
      if (next < text_.size() && (text_[next] == '+' || text_[next] == '-')) ++next;
      if (next < text_.size() && is_digit(text_[next])) {
        is_float = true;
        at_ = next;
        digits();
      }
    }
    return is_float;
  }

  void float_token(size_t begin, const std::string& digits) {
    push(TokenKind::kFloat, begin).float_value = std::strtod(digits.c_str(), nullptr);
  }

  void integer_token(size_t begin, const std::string& digits, bool hex) {
    errno = 0;
    const int64_t value = std::strtoll(digits.c_str() + (hex ? 2 : 0), nullptr, hex ? 16 : 10);
    if (errno == ERANGE) {
      diagnostics_.error(range_from(begin),
                         "integer " + digits + " does not fit 64 bits; the largest is 9223372036854775807");
    } else if (hex && digits.size() == 2) {
      diagnostics_.error(range_from(begin), "expected hexadecimal digits after 0x");
    }
    push(TokenKind::kInteger, begin).int_value = errno == ERANGE ? 0 : value;
  }

  void string() {
    const size_t begin = at_++;
    while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n') {
      const auto c = static_cast<unsigned char>(text_[at_++]);
      if (c < 0x20 || c >= 0x7f || c == '\\') {
        diagnostics_.error({static_cast<uint32_t>(at_ - 1), static_cast<uint32_t>(at_)},
                           "a text holds printable ASCII without `\\`");
      }
    }
    if (at_ < text_.size() && text_[at_] == '"') {
      ++at_;
      push(TokenKind::kString, begin);
      return;
    }
    diagnostics_.error(range_from(begin), "this text does not end on its line; it ends with `\"`");
    push(TokenKind::kString, begin).text = "\"\"";
  }

  void punctuation() {
    const size_t begin = at_;
    for (const Foreign& foreign : kForeign) {
      if (text_.substr(at_, foreign.text.size()) == foreign.text) {
        at_ += foreign.text.size();
        diagnostics_.error(range_from(begin), foreign.mend);
        push(foreign.meant, begin);
        return;
      }
    }
    for (const Spelling& spelling : kPunctuation) {
      if (text_.substr(at_, spelling.text.size()) == spelling.text) {
        at_ += spelling.text.size();
        push(spelling.kind, begin);
        return;
      }
    }
    unknown_character(begin);
  }

  void unknown_character(size_t begin) {
    const unsigned char c = static_cast<unsigned char>(text_[at_]);
    ++at_;
    while (c >= 0x80 && at_ < text_.size() && (static_cast<unsigned char>(text_[at_]) & 0xC0) == 0x80) ++at_;
    std::string message = "unexpected character";
    if (c == '!') {
      message += " '!'; write `not`";
    } else if (c == '#') {
      message += " '#'; comments begin with //";
    } else if (c == '?') {
      message += " '?'; write where(condition, a, b)";
    } else if (c >= 0x20 && c < 0x7f) {
      message += std::string(" '") + static_cast<char>(c) + "'";
    } else {
      const char* hex = "0123456789abcdef";
      message += std::string(" of byte 0x") + hex[c >> 4] + hex[c & 15] + "; outside comments the language is ASCII";
    }
    diagnostics_.error(range_from(begin), message);
  }

  std::string_view text_;
  size_t at_ = 0;
  bool after_division_ = false;
  std::vector<Token> tokens_;
  Diagnostics& diagnostics_;
};

}  // namespace

std::string token_kind_text(TokenKind kind) {
  switch (kind) {
    case TokenKind::kEnd: return "the end of the file";
    case TokenKind::kName: return "a name";
    case TokenKind::kInteger: return "an integer";
    case TokenKind::kFloat: return "a number";
    case TokenKind::kString: return "a text";
    default: break;
  }
  for (const Spelling& spelling : kKeywords) {
    if (spelling.kind == kind) return "`" + std::string(spelling.text) + "`";
  }
  for (const Spelling& spelling : kPunctuation) {
    if (spelling.kind == kind) return "`" + std::string(spelling.text) + "`";
  }
  return "a token";
}

std::string token_text(const Token& token) {
  if (token.kind == TokenKind::kEnd) return "the end of the file";
  return "`" + std::string(token.text) + "`";
}

std::vector<Token> lex(const SourceFile& file, Diagnostics* diagnostics) { return Lexer(file, diagnostics).run(); }

}  // namespace kaon::compiler::ast
