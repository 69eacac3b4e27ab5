// Knobs at values that make no sense: refused in the compiler's own words, never in LLVM's or the assembler's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/compile.h"
#include "compiler/config/config_space.h"
#include "compiler/frontend/frontend.h"

namespace kaon::compiler {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::Not;

constexpr const char* kSources[] = {
    R"(kernel softmax(x: f16[M, N]) -> (out: f16[M, N]) {
  for m in tile(M) {
    let e = exp(f32(x[m, :]) - amax(f32(x[m, :]), dim=1, keepdim=true));
    out[m, :] = f16(e / sum(e, dim=1, keepdim=true));
  }
})",
    R"(kernel product(x: f32[M, K], w: f32[K, N]) -> (out: f32[M, N]) {
  for m, n in tile(M, N) { out[m, n] = x[m, :] @ w[:, n]; }
})",
    R"(kernel turned(x: f32[M, 96]) -> (out: f32[M, 96]) {
  let B = block(M);
  for m in tile(M, block=B) { out[m, :] = x[m, :].reshape(m, 4, 24).transpose(1, 2).reshape(m, 96); }
})"};

TEST(AbsurdConfigs, AreRefusedInOurOwnWords) {
  const Target target = *find_target("sm_90");
  int refused = 0, taken = 0;
  for (const char* text : kSources) {
    const SourceFile file("case.tile", text);
    Diagnostics diagnostics(file);
    const std::unique_ptr<Program> program = Program::create(file, &diagnostics);
    ASSERT_NE(program, nullptr) << diagnostics.render();
    const Result<Kernel> kernel = program->instantiate(program->kernels()[0].name, {});
    ASSERT_TRUE(kernel) << kernel.status().to_string();
    const ConfigSpace space(*kernel, target);
    for (const Knob& knob : space.knobs()) {
      for (const char* value :
           {"", "0", "-1", "3", "65536", "1000000", "99999999999999999999", "resident(64)", "chunk(65536)",
            "resident(99999999999999999999)", "chunk(-4)", "resident()", "stream", "%s"}) {
        Config config;
        config.set(knob.name, value);
        const Result<CompiledVariant> variant = compile(*kernel, config, target, {}, EmitUntil::kPtx);
        ++(variant ? taken : refused);
        if (variant) continue;
        EXPECT_EQ(variant.status().code(), Code::kIllegalConfig)
            << knob.name << "=" << value << variant.status().to_string();
        EXPECT_THAT(variant.status().message(), Not(AnyOf(HasSubstr("LLVM"), HasSubstr("ptxas"), HasSubstr("error:"))));
      }
    }
  }
  EXPECT_GT(refused, 300);
  EXPECT_GT(taken, 5);
}

}  // namespace
}  // namespace kaon::compiler
