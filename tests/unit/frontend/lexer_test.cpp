// Characters become the tokens that a reader sees.
#include "compiler/frontend/lexer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kaon::compiler {
namespace {

using ast::Token;
using ast::TokenKind;
using testing::ElementsAre;
using testing::HasSubstr;

struct Lexed {
  std::vector<Token> tokens;
  std::vector<std::string> texts;
  std::string messages;
};

Lexed lex_text(const std::string& text) {
  static std::vector<std::unique_ptr<SourceFile>> files;  // tokens point into them
  files.push_back(std::make_unique<SourceFile>("t", text));
  Diagnostics diagnostics(*files.back());
  Lexed out;
  out.tokens = ast::lex(*files.back(), &diagnostics);
  for (const Token& token : out.tokens) {
    if (token.kind != TokenKind::kEnd) out.texts.emplace_back(token.text);
  }
  out.messages = diagnostics.render();
  return out;
}

TEST(Lexer, TakesTheLongestOperator) {
  EXPECT_THAT(lex_text("a<<=b<<c<=d<e->f").texts,
              ElementsAre("a", "<<=", "b", "<<", "c", "<=", "d", "<", "e", "->", "f"));
}

TEST(Lexer, ReadsNumbers) {
  const Lexed l = lex_text("12 1_000 0x1F 1.5 2. 1e3 1.5e-2");
  ASSERT_EQ(l.tokens.size(), 8u);
  EXPECT_EQ(l.tokens[0].int_value, 12);
  EXPECT_EQ(l.tokens[1].int_value, 1000);
  EXPECT_EQ(l.tokens[2].int_value, 31);
  EXPECT_EQ(l.tokens[3].float_value, 1.5);
  EXPECT_EQ(l.tokens[4].float_value, 2.0);
  EXPECT_EQ(l.tokens[5].float_value, 1000.0);
  EXPECT_EQ(l.tokens[6].float_value, 0.015);
}

TEST(Lexer, AMemberAfterANumberIsNoFraction) { EXPECT_THAT(lex_text("1.begin").texts, ElementsAre("1", ".", "begin")); }

TEST(Lexer, RefusesIntegersBeyond64Bits) {
  EXPECT_THAT(lex_text("9223372036854775808").messages, HasSubstr("does not fit 64 bits"));
  EXPECT_EQ(lex_text("9223372036854775807").messages, "");
  EXPECT_THAT(lex_text("0x").messages, HasSubstr("hexadecimal digits"));
}

TEST(Lexer, SkipsCommentsAndKeepsPlaces) {
  const Lexed l = lex_text("a // b ; c\n  d");
  EXPECT_THAT(l.texts, ElementsAre("a", "d"));
  EXPECT_EQ(l.tokens[1].range.begin, 13u);
  EXPECT_FALSE(l.tokens[1].after_division);
  EXPECT_TRUE(lex_text("a // 2;\nb").tokens[1].after_division);
}

TEST(Lexer, ReportsForeignCharactersOnceAndGoesOn) {
  const Lexed l = lex_text("a \xc3\xa9 b $ c");
  EXPECT_THAT(l.texts, ElementsAre("a", "b", "c"));
  EXPECT_THAT(l.messages, HasSubstr("of byte 0xc3"));
  EXPECT_THAT(l.messages, HasSubstr("'$'"));
}

}  // namespace
}  // namespace kaon::compiler
