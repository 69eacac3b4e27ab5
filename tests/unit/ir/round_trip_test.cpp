// print(parse_kernel(text)) == text, and syntax errors with their place.
#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "compiler/ir/choices.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "tests/support/random_kernel.h"
#include "tests/unit/ir/kernels.h"

namespace kaon::compiler {
namespace {

TEST(RoundTrip, softmax_reads_back_as_printed) {
  Result<Kernel> kernel = parse_kernel(kSoftmaxText);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(print(*kernel), kSoftmaxText);
  EXPECT_EQ(verify(*kernel).to_string(), "ok");
}

TEST(RoundTrip, every_header_line_and_region_reads_back_as_printed) {
  Result<Kernel> kernel = parse_kernel(kGridText);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(print(*kernel), kGridText);
  EXPECT_EQ(verify(*kernel).to_string(), "ok");
}

TEST(RoundTrip, layouts_and_shared_buffers_read_back_as_printed) {
  for (const char* text : {kLaidOutText, kStagedText}) {
    Result<Kernel> kernel = parse_kernel(text);
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_EQ(print(*kernel), text);
    EXPECT_EQ(kernel->layout(0).num_warps(), 4u);
  }
}

TEST(RoundTrip, random_kernels_read_back_as_printed) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RandomKernelOptions options;
    options.seed = seed;
    options.num_ops = static_cast<int>(seed % 40);
    const std::string text = print(random_kernel(options));
    Result<Kernel> kernel = parse_kernel(text);
    ASSERT_TRUE(kernel) << kernel.status().message() << "\n" << text;
    ASSERT_EQ(print(*kernel), text);
    ASSERT_EQ(verify(*kernel).to_string(), "ok") << text;
  }
}

TEST(RoundTrip, a_clone_prints_alike_and_does_not_share_ops) {
  const Kernel kernel = parse_kernel(kGridText).value();
  Kernel copy = clone(kernel);
  EXPECT_EQ(print(copy), kGridText);
  copy.body.ops[0]->regions[0].ops.clear();
  EXPECT_EQ(print(kernel), kGridText);
}

TEST(RoundTrip, bodies_read_back_with_the_knobs_that_choose_them) {
  const std::string text =
      "choice \"tune.A\" [\"1\", \"2\"] \"tunable A\"\nchoice \"impl\" [\"only\"] \"which body\"\n" +
      std::string(kSoftmaxText) + kGridText;
  const Result<Kernel> kernel = parse_kernel(text);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(print(*kernel), kSoftmaxText) << "the first body is the kernel's own";
  ASSERT_EQ(kernel->choices->bodies.size(), 2u);
  EXPECT_EQ(print(kernel->choices->bodies[1]), kGridText);
  EXPECT_EQ(print_bodies(*kernel), text);
  EXPECT_EQ(print_bodies(kernel->choices->bodies[1]), kGridText);
  const std::string lacking = text.substr(0, text.size() - std::string(kGridText).size());
  EXPECT_FALSE(parse_kernel(lacking)) << "two bodies were announced";
}

TEST(RoundTrip, floats_keep_every_bit) {
  for (double value : {0.1, -0.0, 1.0, 1e300, 5e-324, 3.4028234663852886e38, HUGE_VAL, -HUGE_VAL}) {
    std::string text = kGridText;
    Kernel kernel = parse_kernel(text).value();
    Op& op = *kernel.body.ops[0]->regions[0].ops[4];
    ASSERT_EQ(op.kind, OpKind::kConst);
    op.set_attr("value", value);
    const Kernel again = parse_kernel(print(kernel)).value();
    const double read = std::get<double>(*again.body.ops[0]->regions[0].ops[4]->find_attr("value"));
    EXPECT_EQ(read, value);
    EXPECT_EQ(std::signbit(read), std::signbit(value));
  }
}

TEST(RoundTrip, spaces_comments_and_line_breaks_are_free) {
  std::string text = kSoftmaxText;
  for (size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', at + 20)) {
    text.replace(at, 1, "   // said nothing\n\n");
  }
  text.insert(text.find("stage"), "// at the start\n\n\t");
  text.replace(text.find("= cast"), 6, "=\n  cast");
  Result<Kernel> kernel = parse_kernel(text);
  ASSERT_TRUE(kernel) << kernel.status().message();
  EXPECT_EQ(print(*kernel), kSoftmaxText);
}

}  // namespace
}  // namespace kaon::compiler
