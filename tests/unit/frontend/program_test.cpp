// A program lists its kernels, binds what is open, and is identified by its meaning.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/choices.h"
#include "tests/unit/frontend/sources.h"

namespace kaon::compiler {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Program, ListsBindingsInSourceOrder) {
  const auto program = compile_text(
      "kernel k(x: T[M], y: W[M]) -> (out: T[M]) where T in (f32, f16), W in (i8, i32) {\n"
      "  for m in tile(M) { out[m] = x[m] + T(y[m]); }\n}\n");
  ASSERT_NE(program, nullptr);
  ASSERT_EQ(program->kernels().size(), 1u);
  const KernelInfo& info = program->kernels()[0];
  EXPECT_EQ(info.name, "k");
  ASSERT_EQ(info.bindings.size(), 4u);
  EXPECT_EQ(info.bindings[0], (DTypeBinding{{"T", DType::kF32}, {"W", DType::kI8}}));
  EXPECT_EQ(info.bindings[1], (DTypeBinding{{"T", DType::kF32}, {"W", DType::kI32}}));
  EXPECT_EQ(info.bindings[3], (DTypeBinding{{"T", DType::kF16}, {"W", DType::kI32}}));
  const Result<Kernel> kernel = program->instantiate("k", info.bindings[3]);
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->signature.tensors[1].dtype, DType::kI32);
  EXPECT_EQ(kernel->signature.tensors[1].dtype_var, "W");
}

TEST(Program, RefusesOtherBindingsAndNames) {
  const auto program = compile_text(kSoftmax);
  ASSERT_NE(program, nullptr);
  const Status binding = program->instantiate("softmax", {{"T", DType::kI8}}).status();
  EXPECT_EQ(binding.code(), Code::kInvalidArgument);
  EXPECT_THAT(binding.message(), HasSubstr("T = i8, expected one of: T = f16 | T = bf16 | T = f32"));
  const Status name = program->instantiate("softmix", {}).status();
  EXPECT_EQ(name.code(), Code::kNotFound);
  EXPECT_THAT(name.message(), HasSubstr("softmax"));
  EXPECT_EQ(program->instantiate("softmax", {{"T", DType::kF16}}, {{"W", 1}}).status().code(), Code::kInvalidArgument);
}

TEST(Program, BindsConstexprParameters) {
  const auto program = compile_text(kColumnSum);
  ASSERT_NE(program, nullptr);
  EXPECT_THAT(program->kernels()[0].constexpr_params, ElementsAre("W"));
  EXPECT_EQ(program->instantiate("column_sum", {})->axes[1].fixed_block, 8);
  EXPECT_EQ(program->instantiate("column_sum", {}, {{"W", 32}})->axes[1].fixed_block, 32);
  const Status negative = program->instantiate("column_sum", {}, {{"W", -1}}).status();
  EXPECT_EQ(negative.code(), Code::kCompile);
  EXPECT_THAT(negative.message(), HasSubstr("a block size is at least 1, got -1"));
}

TEST(Program, BindsSpecialisedDimensions) {
  const auto program = compile_text(
      "kernel k(x: f32[M, N, K]) -> (o: f32[M]) specialize N in (2, 6), K in (1, 5) require N < 7 {\n"
      "  for m in tile(M) { o[m] = sum(x[m, :, :]); }\n}\n");
  ASSERT_NE(program, nullptr);
  const KernelInfo& info = program->kernels()[0];
  EXPECT_THAT(info.specialisations(),
              ElementsAre(ConstexprBinding{{"N", 2}, {"K", 1}}, ConstexprBinding{{"N", 2}, {"K", 5}},
                          ConstexprBinding{{"N", 6}, {"K", 1}}, ConstexprBinding{{"N", 6}, {"K", 5}}));
  const Result<Kernel> open = program->instantiate("k", {});
  ASSERT_TRUE(open);
  EXPECT_EQ(open->choices->bodies.size(), 4u);
  const Result<Kernel> bound = program->instantiate("k", {}, {{"N", 6}, {"K", 5}});
  ASSERT_TRUE(bound);
  ASSERT_EQ(bound->choices->bodies.size(), 1u) << "a bound dimension is still named by its knob";
  EXPECT_EQ(bound->choices->knobs[0].knob, "const.N");
  ASSERT_EQ(bound->guards.size(), 2u);
  EXPECT_EQ(bound->guards[0].kind, GuardKind::kEqual);
  EXPECT_EQ(bound->guards[0].slot, bound->signature.dim_slot(1));
  EXPECT_EQ(bound->guards[0].value, 6);
  // The signature is that of every value: what a call's extents are compared with.
  EXPECT_EQ(bound->signature.tensors[0].extents[1], Expr::slot(bound->signature.dim_slot(1)));
  const Status other = program->instantiate("k", {}, {{"N", 3}}).status();
  EXPECT_EQ(other.code(), Code::kValueNotCompiled);
  EXPECT_THAT(other.message(), HasSubstr("compiled for N in (2, 6), got 3"));
}

TEST(Program, HashIgnoresBlanksAndCommentsOnly) {
  const std::string one =
      compile_text("kernel k(x: f32[M]) -> (o: f32[M]) { for m in tile(M) { o[m] = x[m]; } }")->source_hash();
  const std::string same = compile_text(
                               "// a comment\nkernel k ( x:f32[M])->(o:f32[M]){\n\n for m in tile(M){o[m]=x[m];/"
                               "/ end\n}}\n")
                               ->source_hash();
  const std::string other =
      compile_text("kernel k(x: f32[M]) -> (o: f32[M]) { for m in tile(M) { o[m] = -x[m]; } }")->source_hash();
  EXPECT_EQ(one.size(), 64u);
  EXPECT_EQ(one, same);
  EXPECT_NE(one, other);
}

TEST(Program, ReportsAMistakeOnceForAllBindings) {
  std::string messages;
  EXPECT_EQ(compile_text("kernel k(x: T[M]) -> (out: T[M]) where T in (f16, bf16, f32) {\n"
                         "  for m in tile(M) { out[m] = y; }\n}\n",
                         &messages),
            nullptr);
  EXPECT_EQ(messages.find("error:"), messages.rfind("error:")) << messages;
  EXPECT_THAT(messages, testing::Not(HasSubstr("with T")));
}

TEST(Program, SaysForWhichBindingAMistakeHolds) {
  std::string messages;
  EXPECT_EQ(compile_text("kernel k(x: T[M]) -> (out: f32[M]) where T in (f32, bf16, f16) {\n"
                         "  for m in tile(M) { out[m] = x[m]; }\n}\n",
                         &messages),
            nullptr);
  EXPECT_THAT(messages, HasSubstr("`out` holds f32 and the value is bf16[m]"));
  EXPECT_THAT(messages, HasSubstr("with T = bf16"));
  EXPECT_EQ(messages.find("error:"), messages.rfind("error:")) << messages;
}

TEST(Program, DumpsItsTree) {
  EXPECT_THAT(compile_text(kSoftmax)->dump_ast(), HasSubstr("kernel softmax\n  input x T tensor\n"));
}

TEST(Program, AFileWithoutKernelIsAnError) {
  std::string messages;
  EXPECT_EQ(compile_text("fn f(a) { return a; }", &messages), nullptr);
  EXPECT_THAT(messages, HasSubstr("the file has no kernel"));
}

}  // namespace
}  // namespace kaon::compiler
