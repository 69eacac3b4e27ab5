// Every example of LANGUAGE.md and every kernel that ships compiles under each of its bindings, without a warning.
#include <gtest/gtest.h>

#include <set>

#include "compiler/ir/walk.h"
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

/// What no text becomes by itself: passes make these of a `tile`.
bool comes_of_passes(OpKind kind) { return kind == OpKind::kGrid || kind == OpKind::kLoop; }

TEST(Language, ExamplesUseEveryOpOfTheIr) {
  std::set<std::string> used;
  for (const std::string& block : tile_blocks(read_source("compiler/LANGUAGE.md"))) {
    std::string messages;
    const std::unique_ptr<Program> program = compile_text(block, &messages);
    ASSERT_NE(program, nullptr) << messages;
    for (const KernelInfo& info : program->kernels()) {
      const Result<Kernel> kernel =
          program->instantiate(info.name, info.bindings.empty() ? DTypeBinding() : info.bindings[0]);
      ASSERT_TRUE(kernel) << kernel.status().to_string();
      walk(kernel->body, [&](const Op& op, const ConstOpPlace&) {
        used.insert(op_info(op.kind).text);
        used.insert(std::string(op_info(op.kind).text) + " " + op.str_attr("fn"));
      });
    }
  }
#define KAON_OP(enumerator, text, operands, results, regions, first, last, pure)          \
  if (Stage::first == Stage::kLogical && !comes_of_passes(OpKind::enumerator)) {          \
    EXPECT_EQ(used.count(text), 1u) << "no example of LANGUAGE.md makes the op " << text; \
  }
#include "compiler/ir/ops.inc"
#undef KAON_OP
#define KAON_EXPECT_FN(op, text) \
  EXPECT_EQ(used.count(op " " text), 1u) << "no example of LANGUAGE.md makes " op " " text;
#define KAON_UNARY(enumerator, text) KAON_EXPECT_FN("unary", text)
#define KAON_BINARY(enumerator, text) KAON_EXPECT_FN("binary", text)
#define KAON_COMPARE(enumerator, text) KAON_EXPECT_FN("compare", text)
#define KAON_REDUCE(enumerator, text) KAON_EXPECT_FN("reduce", text)
#include "compiler/ir/functions.inc"
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
