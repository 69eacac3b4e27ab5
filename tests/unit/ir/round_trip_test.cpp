// print(parse_kernel(text)) == text, and syntax errors with their place.
#include <gtest/gtest.h>

#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
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

}  // namespace
}  // namespace kaon::compiler
