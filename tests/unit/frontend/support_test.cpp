// Digests, near misses, carets, and the matching of expected diagnostics.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/support/diagnostics.h"
#include "compiler/support/expected_diagnostics.h"
#include "compiler/support/near_miss.h"
#include "compiler/support/sha256.h"

namespace kaon::compiler {
namespace {

using testing::HasSubstr;

TEST(Sha256, MatchesTheStandardsExamples) {
  EXPECT_EQ(sha256_hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256_hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256_hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256_hex(std::string(1000000, 'a')), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(NearMiss, FindsTheNameThatWasMeant) {
  const std::vector<std::string> names = {"sum", "prod", "num_warps", "block.m"};
  EXPECT_EQ(near_miss("smu", names), "sum");
  EXPECT_EQ(near_miss("num_wraps", names), "num_warps");
  EXPECT_EQ(near_miss("xyz", names), "");
  EXPECT_EQ(near_miss(std::string(100000, 'x'), names), "");
}

TEST(Diagnostics, DrawsACaretUnderTheRange) {
  const SourceFile file("a.tile", "one\n\ttwo three\n");
  Diagnostics diagnostics(file);
  diagnostics.error({9, 14}, "bad");
  diagnostics.note({}, "nowhere");
  EXPECT_EQ(diagnostics.render(), "a.tile:2:6: error: bad\n  \ttwo three\n  \t    ^~~~~\na.tile: note: nowhere\n");
  EXPECT_EQ(diagnostics.num_errors(), 1);
}

TEST(Diagnostics, SurvivesARangeAtTheEnd) {
  const SourceFile file("a.tile", "x");
  Diagnostics diagnostics(file);
  diagnostics.error({1, 2}, "end");
  EXPECT_EQ(diagnostics.render(), "a.tile:1:2: error: end\n  x\n   ^\n");
}

std::string check(const std::string& text, SourceRange error) {
  const SourceFile file("a.tile", text);
  Diagnostics diagnostics(file);
  if (error.is_known()) diagnostics.error(error, "no such name");
  return check_expected_diagnostics(diagnostics);
}

TEST(ExpectedDiagnostics, AcceptsWhatIsExpectedWhereItIs) {
  EXPECT_EQ(check("x // expect-error {{such}}\n", {0, 1}), "");
  EXPECT_EQ(check("// expect-error@+1 {{no such}}\nx\n", {31, 32}), "");
  EXPECT_EQ(check("x\n// expect-error@-1 {{name}}\n", {0, 1}), "");
}

TEST(ExpectedDiagnostics, ReportsEveryDifference) {
  EXPECT_THAT(check("x\n", {0, 1}), HasSubstr("a.tile:1: not expected: error: no such name"));
  EXPECT_THAT(check("x // expect-error {{such}}\n", {}), HasSubstr("a.tile:1: expected but not reported"));
  EXPECT_THAT(check("x // expect-warning {{such}}\n", {0, 1}), HasSubstr("not expected"));
  EXPECT_THAT(check("x // expect-error {{such}} expect-error {{such}}\n", {0, 1}),
              HasSubstr("expected but not reported"));
  EXPECT_THAT(check("x // expect-error such\n", {0, 1}), HasSubstr("needs its text in {{ }}"));
  EXPECT_THAT(check("x // expect-error@+1 {{such}}\n\n", {0, 1}), HasSubstr("on line 2"));
}

}  // namespace
}  // namespace kaon::compiler
