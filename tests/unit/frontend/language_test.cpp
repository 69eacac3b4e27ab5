// Every example of LANGUAGE.md and every kernel that ships compiles under each of its bindings, without a warning.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "tests/unit/frontend/sources.h"

namespace kaon::compiler {
namespace {

std::string read(const std::string& path) {
  std::ifstream file(std::string(KAON_SOURCE_DIR) + "/" + path);
  EXPECT_TRUE(file.good()) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

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

std::vector<std::string> tile_blocks(const std::string& markdown) {
  std::vector<std::string> blocks;
  std::istringstream lines(markdown);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line == "```tile") {
      inside = true;
      blocks.emplace_back();
    } else if (line == "```") {
      inside = false;
    } else if (inside) {
      blocks.back() += line + "\n";
    }
  }
  return blocks;
}

TEST(Language, EveryExampleCompiles) {
  const std::vector<std::string> blocks = tile_blocks(read("compiler/LANGUAGE.md"));
  EXPECT_GE(blocks.size(), 4u);
  for (const std::string& block : blocks) {
    SCOPED_TRACE(block);
    expect_compiles(block);
  }
}

TEST(Language, ShippedKernelsCompile) {
  expect_compiles(read("pretuned/softmax/softmax.tile"));
  expect_compiles(read("pretuned/vector_add/vector_add.tile"));
}

TEST(Language, TestKernelsCompile) {
  for (const char* source : {kSoftmax, kRope, kColumnSum}) expect_compiles(source);
}

}  // namespace
}  // namespace kaon::compiler
