// Errors in the textual IR carry line, column, what was expected and what stood there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/ir/parser.h"
#include "tests/unit/ir/kernels.h"

namespace kaon::compiler {
namespace {

using testing::HasSubstr;

struct BadText {
  const char* from;
  const char* to;
  const char* message;
};

const BadText kBadTexts[] = {
    {"kernel \"odd name\"", "kernal x", "1:1: expected 'kernel', got 'kernal'"},
    {"stage logical", "stage early", "2:9: expected a stage (logical, laid_out or staged), got 'early'"},
    {"f32[B + 1, 2", "f31[B + 1, 2", "5:13: expected an element type, got 'f31'"},
    {"2 * (N + 3)", "2 * (Q + 3)", "5:29: no slot of the call is named Q"},
    {"2 * (N + 3)", "2 * (N + 3", "5:34: expected ')', got ']'"},
    {"zeroed\n", "zeroed, cold\n", "7:38: expected generic, output, zeroed or alias, got 'cold'"},
    {"axis b: tile", "axis b: ring", "11:11: expected a kind of axis (tile, full or static), got 'ring'"},
    {"begin 0, end B", "begin 0, extent B", "11:25: expected begin, end, fixed_block, block_axis, lengths, block or origin, got 'extent'"},
    {"axis k: tile", "axis b: tile", "12:8: axis b is declared a second time"},
    {"\"chunk(16)\"}", "chunk}", "config: "},
    {"num_warps 4", "num_warps 4000", "16:13: expected a number of warps from 0 to 1024, got 4000"},
    {"guard divisible N 8", "guard divisible Q 8", "17:19: no slot of the call is named Q"},
    {"guard divisible N 8", "guard even N", "17:9: expected a kind of guard (divisible, equal"},
    {"zero out", "zero y", "no tensor is named y"},
    {"grid {axes = [b]}", "grid {axes = [c]}", "22:17: no axis is named c"},
    {"load offsets[b]", "load ofsets[b]", "23:22: no tensor is named ofsets"},
    {"= load offsets[b]", "= lod offsets[b]", "23:17: no op is named 'lod'"},
    {"what = \"begin\"}", "what = begin}", "24:42: expected a number, a string, a list or expr(...), got 'begin'"},
    {"what = \"begin\"}", "axis = k}", "24:35: attribute axis is given a second time"},
    {"what = \"begin\"}", "what = \"begin}", "string without an end"},
    {"%5:i64 = binary", "%3:i64 = binary", "26:5: value %3 is defined a second time"},
    {"%5:i64 = binary", "%5:i64 binary", "26:12: expected '=', got 'binary'"},
    {"%5:i64 = binary", "%55555555:i64 = binary", "26:5: expected a value below %1048576, got '%55555555'"},
    {"} else {", "} or {", "expected 'else', got 'or'"},
    {"# acc, _, acc, other", "# acc, _", "expected 4 names after '#'"},
    {"value = inf", "value = 1.x", "expected a number, got '1.x'"},
    {"store out[b] %20", "store out[b %20", "expected ']', got '%20'"},
    {"store out[b] %20", "store out[b] ~", "unexpected character '~'"},
    {"    store out[b] %20\n  }\n}", "    store out[b] %20\n  }\n", "expected an op or '}', got the end"},
};

class BadSyntax : public testing::TestWithParam<size_t> {};

TEST_P(BadSyntax, is_reported_at_its_place) {
  const BadText& bad = kBadTexts[GetParam()];
  std::string text = kGridText;
  const size_t at = text.find(bad.from);
  ASSERT_NE(at, std::string::npos) << bad.from;
  text.replace(at, std::string(bad.from).size(), bad.to);
  Result<Kernel> kernel = parse_kernel(text);
  ASSERT_FALSE(kernel) << text;
  EXPECT_EQ(kernel.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(kernel.status().message(), HasSubstr(bad.message));
}

INSTANTIATE_TEST_SUITE_P(Parser, BadSyntax, testing::Range<size_t>(0, sizeof(kBadTexts) / sizeof(kBadTexts[0])));

TEST(Parser, layout_errors_name_their_place) {
  std::string text = kSoftmaxText;
  text.replace(text.find("%0:f16[m, N] ="), 14, "%0:f16[m, N] @ [4w1 | 8q1] warps 4 =");
  EXPECT_THAT(parse_kernel(text).status().message(), HasSubstr("10:20: layout: expected"));
}

TEST(Parser, every_prefix_of_a_text_is_refused_without_a_crash) {
  const std::string text = kGridText;
  const size_t end = text.rfind('}');
  for (size_t length = 0; length < end; ++length) EXPECT_FALSE(parse_kernel(text.substr(0, length)));
}

TEST(Parser, a_text_with_a_byte_changed_is_read_or_refused_without_a_crash) {
  const std::string text = kGridText;
  int refused = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    for (char c : {'}', '{', '%', '9', '-', ' '}) {
      std::string changed = text;
      changed[i] = c;
      refused += !parse_kernel(changed);
    }
  }
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace kaon::compiler
