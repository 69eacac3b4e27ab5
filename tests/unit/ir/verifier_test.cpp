// Broken kernels: each is refused with a message that names the stage, the op, and what was expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "compiler/ir/builder.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "tests/unit/ir/kernels.h"

namespace kaon::compiler {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

struct Broken {
  const char* base;
  const char* from;  // what of the base is replaced
  const char* to;
  const char* message;  // a part of what the verifier says
};

const Broken kBroken[] = {
    // typing
    {kSoftmaxText, "%1:f32[m, N] = cast", "%1:f32[m, 1] = cast", "cast %0: result: expected f32[m, N], got f32[m, 1]"},
    {kSoftmaxText, "reduce %1 {fn = \"max\"", "reduce %1 {fn = \"median\"", "\"median\" is no function of reduce"},
    {kSoftmaxText, "dims = [1], keepdim = 1}\n    %3", "dims = [2], keepdim = 1}\n    %3",
     "expected distinct dims of f32[m, N], got 2"},
    {kSoftmaxText, "dims = [1], keepdim = 1}\n    %3", "dims = [], keepdim = 1}\n    %3",
     "expected at least one dim of f32[m, N]"},
    {kSoftmaxText, "dims = [1], keepdim = 1}\n    %3", "dims = [1], keepdim = 0}\n    %3",
     "result: expected f32[m], got f32[m, 1]"},
    {kSoftmaxText, "binary %1, %3", "binary %1, %2", "sub: operands differ, f32[m, N] and f32[m, 1]"},
    {kSoftmaxText, "binary %1, %3", "binary %0, %3", "sub: operands differ, f16[m, N] and f32[m, N]"},
    {kSoftmaxText, "{fn = \"sub\"}", "{fn = \"xor\"}", "xor: expected integers or bool, got f32"},
    {kSoftmaxText, "{fn = \"exp\"}", "{fn = \"add\"}", "\"add\" is no function of unary"},
    {kSoftmaxText, "%3:f32[m, N] = broadcast", "%3:f32[N, m] = broadcast", "dim 0 of f32[m, 1] is no unit axis"},
    {kSoftmaxText, "store out[m, N] %9", "store out[m, N] %8",
     "store out[m, N] %8: value: expected f16[m, N], got f32[m, N]"},
    {kSoftmaxText, "store out[m, N] %9", "store x[m, N] %9", "tensor x is an input"},
    {kSoftmaxText, "load x[m, N]", "load x[m]", "tensor x has rank 2, got 1 indexer"},
    {kSoftmaxText, "load x[m, N]", "load x[N, m]", "result: expected f16[N, m], got f16[m, N]"},
    {kGridText, "load x[gather %2, k + %5]", "load x[gather %3, k + %5]",
     "index of dim 0: expected an integer tile, got i64"},
    {kGridText, "load x[%3, %5]", "load x[%3, %2]", "index of dim 1: expected a scalar integer, got i64[b]"},
    {kGridText, "expand_dims %17 {dim = 0}", "expand_dims %17 {dim = 1}",
     "attribute dim: expected 0 to 0 for f32, got 1"},
    {kGridText, "what = \"begin\"", "what = \"middle\"",
     "attribute what: expected begin, end, id, block_size or count"},
    {kGridText, "= const {value = -1e-06}", "= const {value = \"x\"}", "attribute value: expected a number"},
    {kGridText, "%4:i64 = expr {expr = expr(N - 2)}", "%4:i64 = expr {expr = 1}",
     "attribute expr: expected an expression"},
    {kGridText, "if %14", "if %3", "condition: expected bool, got i64"},
    // definitions and scopes
    {kSoftmaxText, "cast %0", "cast %5", "%5 is not defined here"},
    {kGridText, "binary %15, %19", "binary %16, %19", "%16 is not defined here"},
    {kGridText, "yield %13, %10", "yield %13", "expected a yield of 2 values, got 1"},
    {kGridText, "yield %13, %10", "yield %13, %11", "yield: value %11: expected f32[b], got f32[b, k]"},
    {kGridText, "      yield %13, %10\n", "      yield %13, %10\n      %21:i64[k] = index {axis = k}\n",
     "yield must be the last op of a region"},
    {kGridText,
     "%18:f32[1] =", "%21:i64[k] = index {axis = k}\n    %18:f32[1] =", "axis k is used outside the loop over it"},
    {kGridText, "end %5", "end %12", "bound %12: expected i64, got f32[b]"},
    // structure
    {kSoftmaxText, "tile {axes = [m]}", "grid {axes = [N]}", "axis N: expected a tile axis, got a full one"},
    {kSoftmaxText, "tile {axes = [m]}", "tile {axes = []}", "expected at least one axis"},
    {kSoftmaxText, "    store out[m, N] %9\n  }\n", "    store out[m, N] %9\n  }\n  tile {axes = [m]} {\n  }\n",
     "expected one outermost tile or grid, got 2"},
    {kSoftmaxText, "    store out[m, N] %9\n  }\n", "  }\n  barrier\n",
     "barrier: only pure ops stand outside the outermost tile or grid"},
    {kSoftmaxText, "store out[m, N] %9", "tile {axes = [m]} {\n    }", "axis m is looped over inside its own loop"},
    {kGridText, "= loop %6, %6 {axis = k}", "= tile %6, %6 {axes = [k]}", "a kernel with a grid has loops, no tiles"},
    {kGridText, "fixed_block 1, block 1", "fixed_block 1, block -1", "axis b: negative block"},
    {kGridText, "offset 32", "offset 8", "shared buffer red: expected a 16-byte aligned offset, got 8"},
    // stages and layouts
    {kLaidOutText, "grid {axes", "tile {axes", "tile belongs to stages logical to logical"},
    {kSoftmaxText, "store out[m, N] %9", "barrier", "barrier belongs to stages staged to staged"},
    {kLaidOutText, "num_warps 4", "num_warps 0", "num_warps: expected 1 to 256, got 0"},
    {kLaidOutText, "[4w1 | 8r1 32l1] warps 4 = load", "[4w1 | 8r1 32l1] warps 8 = load", "expected 4 warps, got"},
    {kLaidOutText, "%0:f32[m, N] @ [4w1 | 8r1 32l1] warps 4", "%0:f32[m, N]",
     "layout of %0: expected one for f32[m, N], got none"},
    {kLaidOutText, "[4w1 | 8r1 32l1] warps 4 = load", "[32l1] warps 4 = load",
     "layout of %0: expected rank 2, got [32l1] warps 4"},
    {kLaidOutText, "[4w1 | 8r1 32l1] warps 4 = load", "[4w1 | 4r1 32l1] warps 4 = load",
     "expected capacity 256 for dim 1 of f32[m, N], got 128"},
    {kLaidOutText, "[4w1 | 8r1 32l1] warps 4 = load", "[4w1 | 32l1 8r1] warps 4 = load",
     "layout of %0: expected [4w1 | 8r1 32l1] warps 4, got [4w1 | 32l1 8r1] warps 4"},
    {kLaidOutText, "[4w1 | 8r1 32l1] warps 4 = load", "[4w2 | 8r1 32l1] warps 4 = load", "warp"},
    {kLaidOutText, "[4w1 | 1] warps 4 = reduce", "[4r1 | 1] warps 4 = reduce",
     "layout of %1: expected [4w1 | 1] warps 4, got [4r1 | 1] warps 4"},
    {kStagedText, "bytes 512", "bytes 256", "buffer red has 256 bytes, %0 needs 512"},
    {kStagedText, "shared_store %0 {buffer = red}", "shared_store %0 {buffer = 3}",
     "attribute buffer: no shared buffer 3"},
    {kStagedText, "shared_load {buffer = red}", "shared_load {buffer = 3}",
     "attribute buffer: expected one of 1 shared buffer"},
};

class BrokenKernel : public testing::TestWithParam<size_t> {};

TEST_P(BrokenKernel, is_refused_with_the_stage_the_op_and_what_was_expected) {
  const Broken& broken = kBroken[GetParam()];
  std::string text = broken.base;
  const size_t at = text.find(broken.from);
  ASSERT_NE(at, std::string::npos) << broken.from;
  text.replace(at, std::string(broken.from).size(), broken.to);
  Result<Kernel> kernel = parse_kernel(text);
  ASSERT_TRUE(kernel) << kernel.status().message() << "\n" << text;
  const Status status = verify(*kernel);
  EXPECT_EQ(status.code(), Code::kInternal) << text;
  EXPECT_THAT(status.message(), StartsWith("verify: "));
  EXPECT_THAT(status.message(), HasSubstr(broken.message));
}

INSTANTIATE_TEST_SUITE_P(Verifier, BrokenKernel, testing::Range<size_t>(0, sizeof(kBroken) / sizeof(kBroken[0])));

TEST(Verifier, accepts_the_kernels_that_the_broken_ones_are_made_of) {
  for (const char* text : {kSoftmaxText, kGridText, kLaidOutText, kStagedText}) {
    Result<Kernel> kernel = parse_kernel(text);
    ASSERT_TRUE(kernel) << kernel.status().message();
    EXPECT_EQ(verify(*kernel).to_string(), "ok");
  }
}

TEST(Verifier, names_stage_and_op) {
  std::string text = kSoftmaxText;
  text.replace(text.find("cast %0"), 7, "cast %5");
  EXPECT_EQ(verify(*parse_kernel(text)).message(), "verify: logical: %1:f32[m, N] = cast %5: %5 is not defined here");
}

// What no text can say, since the parser refuses it.
TEST(Verifier, refuses_ids_that_do_not_exist_and_second_definitions) {
  Kernel kernel = parse_kernel(kSoftmaxText).value();
  Op& cast = *kernel.body.ops[0]->regions[0].ops[1];
  cast.operands[0] = 999;
  EXPECT_THAT(verify(kernel).message(), HasSubstr("%999 is no value of the kernel"));
  cast.operands[0] = -1;
  EXPECT_THAT(verify(kernel).message(), HasSubstr("%-1 is no value of the kernel"));
  cast.operands[0] = 0;
  cast.results[0] = 0;
  EXPECT_FALSE(verify(kernel));
  cast.results[0] = 1;
  EXPECT_TRUE(verify(kernel));
  kernel.values[1].type.axes[0] = 77;
  EXPECT_FALSE(verify(kernel));
}

TEST(Verifier, refuses_a_bound_that_is_defined_nowhere_around_its_loop) {
  Kernel kernel = parse_kernel(kGridText).value();
  const ValueId bound = kernel.new_value(Type{DType::kI64, {}});
  kernel.axis(1).extent_value = bound;
  EXPECT_THAT(verify(kernel).message(), HasSubstr("axis k: bound %" + std::to_string(bound) + " is not defined here"));
}

TEST(Verifier, refuses_missing_operands_results_and_regions) {
  Kernel kernel = parse_kernel(kSoftmaxText).value();
  Kernel broken = clone(kernel);
  broken.body.ops[0]->regions[0].ops[1]->operands.clear();
  EXPECT_THAT(verify(broken).message(), HasSubstr("expected 1 operands, got 0"));
  broken = clone(kernel);
  broken.body.ops[0]->regions[0].ops[1]->results.clear();
  EXPECT_THAT(verify(broken).message(), HasSubstr("expected 1 results, got 0"));
  broken = clone(kernel);
  broken.body.ops[0]->regions.clear();
  EXPECT_THAT(verify(broken).message(), HasSubstr("expected 1 regions, got 0"));
  broken = clone(kernel);
  broken.body.ops.clear();
  EXPECT_THAT(verify(broken).message(), HasSubstr("expected one outermost tile or grid, got 0"));
}

}  // namespace
}  // namespace kaon::compiler
