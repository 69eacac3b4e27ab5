// The tree has the shape that precedence promises, and one run reports every mistake.
#include "compiler/frontend/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kaon::compiler {
namespace {

using testing::HasSubstr;

std::string tree(const std::string& text, int* errors = nullptr) {
  const SourceFile file("t", text);
  Diagnostics diagnostics(file);
  const std::vector<ast::Token> tokens = ast::lex(file, &diagnostics);
  const ast::File parsed = ast::parse(file, tokens, &diagnostics);
  if (errors != nullptr) *errors = diagnostics.num_errors();
  return diagnostics.has_errors() ? diagnostics.render() : ast::dump(parsed);
}

std::string expression_tree(const std::string& text) { return tree("fn f(a) { return " + text + "; }"); }

TEST(Parser, BindsTighterOperatorsFirst) {
  EXPECT_EQ(expression_tree("a + b * -c"),
            "fn f(a)\n  return\n    binary `+`\n      name a\n      binary `*`\n        name b\n        unary `-`\n"
            "          name c\n");
  EXPECT_EQ(expression_tree("a - b - c"),
            "fn f(a)\n  return\n    binary `-`\n      binary `-`\n        name a\n        name b\n      name c\n");
}

TEST(Parser, ComparesBitPatternsWithoutParentheses) {
  EXPECT_EQ(
      expression_tree("a & 1 == 0"),
      "fn f(a)\n  return\n    binary `==`\n      binary `&`\n        name a\n        integer 1\n      integer 0\n");
}

TEST(Parser, NotCoversAComparison) {
  EXPECT_EQ(expression_tree("not a == b and c"),
            "fn f(a)\n  return\n    binary `and`\n      unary `not`\n        binary `==`\n          name a\n          "
            "name b\n"
            "      name c\n");
}

TEST(Parser, ReadsSubscripts) {
  EXPECT_EQ(
      expression_tree("x[m.begin, :, 1:, None]"),
      "fn f(a)\n  return\n    subscript\n      name x\n      member begin\n        name m\n      slice\n        open\n"
      "        open\n      slice\n        integer 1\n        open\n      None\n");
}

TEST(Parser, TellsATupleFromParentheses) {
  EXPECT_THAT(expression_tree("sum(a, dim=(0,))"), HasSubstr("argument dim\n        tuple\n          integer 0\n"));
  EXPECT_THAT(expression_tree("sum(a, dim=(0))"), HasSubstr("argument dim\n        integer 0\n"));
}

TEST(Parser, ReadsTheHeadOfAKernel) {
  const std::string text = tree(
      "kernel k(x: T[M, 2 * H], e: f32, constexpr W: i64 = -3) -> (o: T[M] = 0, p: T[M] alias x) where T in (f16, "
      "f32,), "
      "U in (i8) require H > 0, M > 1 specialize M in (4, 8), H in (2,) require H < 9 { }");
  EXPECT_THAT(text, HasSubstr("input x T tensor\n    name M\n    binary `*`\n"));
  EXPECT_THAT(text, HasSubstr("input e f32\n  input W i64 constexpr default -3\n"));
  EXPECT_THAT(text, HasSubstr("output o T tensor zeroed\n"));
  EXPECT_THAT(text, HasSubstr("output p T tensor alias x\n"));
  EXPECT_THAT(text, HasSubstr("generic T f16 f32\n  generic U i8\n"));
  EXPECT_THAT(text, HasSubstr("require\n    binary `<`\n"));
  EXPECT_THAT(text, HasSubstr("specialize M 4 8\n  specialize H 2\n"));
}

TEST(Parser, ReportsEveryMistakeOfAFile) {
  int errors = 0;
  const std::string messages = tree(
      "kernel k(x: f32[M]) -> (out: f32[M]) {\n  let a = ;\n  for m tile(M) { }\n  let b = (1;\n}\n"
      "kernel j(x f32) -> (out: f32[M]) { }\nfn f(a) { return a }\n",
      &errors);
  EXPECT_EQ(errors, 5) << messages;
}

TEST(Parser, RefusesNestingThatNobodyWrites) {
  EXPECT_THAT(expression_tree(std::string(5000, '(') + "a" + std::string(5000, ')')),
              HasSubstr("nested more than 128 deep"));
  std::string chain = "a";
  for (int i = 0; i < 5000; ++i) chain += " + a";
  EXPECT_THAT(expression_tree(chain), HasSubstr("nested more than 128 deep"));
  EXPECT_THAT(expression_tree(std::string(5000, '-') + "a"), HasSubstr("nested more than 128 deep"));
}

}  // namespace
}  // namespace kaon::compiler
