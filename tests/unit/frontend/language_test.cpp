// Every example of LANGUAGE.md and every kernel that ships compiles under each of its bindings, without a warning.
#include <gtest/gtest.h>

#include "tests/unit/frontend/sources.h"
#include "tests/unit/frontend/tile_blocks.h"

namespace kaon::compiler {
namespace {

void expect_compiles(const std::string& text) {
  std::string messages;
  const std::unique_ptr<Program> program = compile_text(text, &messages);
  EXPECT_EQ(messages, "");
  ASSERT_NE(program, nullptr) << text;
  for (const KernelInfo& info : program->kernels()) {
    for (const DTypeBinding& binding : info.bindings) {
      Result<Kernel> kernel = program->instantiate(info.name, binding);
      ASSERT_TRUE(kernel) << kernel.status().to_string();
      const Status valid = verify(*kernel);
      EXPECT_TRUE(valid) << valid.to_string();
    }
  }
}

TEST(Language, EveryExampleCompiles) {
  const std::vector<std::string> blocks = tile_blocks(read_source("compiler/LANGUAGE.md"));
  EXPECT_GE(blocks.size(), 4u);
  for (const std::string& block : blocks) {
    SCOPED_TRACE(block);
    expect_compiles(block);
  }
}

TEST(Language, ShippedKernelsCompile) {
  expect_compiles(read_source("pretuned/softmax/softmax.tile"));
  expect_compiles(read_source("pretuned/vector_add/vector_add.tile"));
}

TEST(Language, TestKernelsCompile) {
  for (const char* source : {kSoftmax, kRope, kColumnSum}) expect_compiles(source);
}

}  // namespace
}  // namespace kaon::compiler
