// The builder makes what the text says, and reports the first misuse instead of crashing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "compiler/ir/builder.h"
#include "compiler/ir/parser.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "tests/unit/ir/kernels.h"

namespace kaon::compiler {
namespace {

using testing::HasSubstr;

/// Signature and axes of softmax, no ops.
Kernel empty_softmax() {
  Kernel kernel = parse_kernel(kSoftmaxText).value();
  kernel.body.ops.clear();
  kernel.values.clear();
  return kernel;
}

TEST(Builder, makes_softmax_as_its_text_has_it) {
  Kernel kernel = empty_softmax();
  Builder b(kernel);
  const AxisId m = 0, n = 1;
  b.begin_tile({m});
  const ValueId x = b.load(0, {Subscript::along(m), Subscript::along(n)});
  const ValueId row = b.cast(x, DType::kF32);
  const ValueId max = b.broadcast(b.reduce(ReduceFn::kMax, row, {1}, true), {m, n});
  const ValueId e = b.unary(UnaryFn::kExp, b.binary(BinaryFn::kSub, row, max));
  const ValueId sum = b.broadcast(b.reduce(ReduceFn::kSum, e, {1}, true), {m, n});
  b.store(1, {Subscript::along(m), Subscript::along(n)}, b.cast(b.binary(BinaryFn::kDiv, e, sum), DType::kF16));
  b.end();
  kernel.values[static_cast<size_t>(row)].name = "row";
  kernel.values[static_cast<size_t>(e)].name = "e";
  EXPECT_EQ(b.status().to_string(), "ok");
  EXPECT_EQ(print(kernel), kSoftmaxText);
}

TEST(Builder, carries_values_through_loops_and_branches) {
  Kernel kernel = empty_softmax();
  kernel.axis(1).kind = AxisKind::kTile;
  Builder b(kernel);
  b.begin_grid({0});
  const ValueId zero = b.float_const(DType::kF32, 0, {0});
  Op& loop = b.begin_loop(1, {zero});
  const ValueId arg = loop.regions[0].args[0];
  const ValueId part =
      b.cast(b.reduce(ReduceFn::kSum, b.load(0, {Subscript::along(0), Subscript::along(1)}), {1}, false), DType::kF32);
  b.end({b.binary(BinaryFn::kAdd, arg, part)});
  const ValueId is_first = b.compare(CompareFn::kEq, b.axis_info(0, "begin"), b.int_const(DType::kI64, 0));
  Op& branch = b.begin_if(is_first, {kernel.type(zero)});
  b.begin_else({loop.result()});
  b.end({zero});
  const ValueId out = b.cast(branch.result(), DType::kF16);
  b.begin_loop(1);
  b.store(1, {Subscript::along(0), Subscript::along(1)}, b.broadcast(b.expand_dims(out, 1), {0, 1}));
  b.end();
  b.end();
  EXPECT_EQ(b.status().to_string(), "ok");
  EXPECT_EQ(verify(kernel).to_string(), "ok") << print(kernel);
}

TEST(Builder, reports_the_first_misuse) {
  Kernel kernel = empty_softmax();
  Builder b(kernel);
  b.begin_tile({0});
  const ValueId x = b.load(0, {Subscript::along(0), Subscript::along(1)});
  const ValueId row = b.reduce(ReduceFn::kSum, x, {1}, true);
  const ValueId bad = b.binary(BinaryFn::kAdd, x, row);
  EXPECT_THAT(b.status().message(), HasSubstr("builder: binary: add: operands differ, f16[m, N] and f16[m, 1]"));
  b.unary(UnaryFn::kExp, kNoValue);
  b.store(0, {Subscript::along(0)}, bad);
  b.end();
  b.end();
  EXPECT_EQ(b.status().code(), Code::kInternal);
  EXPECT_THAT(b.status().message(), HasSubstr("add: operands differ"));
}

TEST(Builder, inserts_in_the_middle_of_a_region) {
  Kernel kernel = parse_kernel(kSoftmaxText).value();
  Region& body = kernel.body.ops[0]->regions[0];
  Builder b(kernel, body, 1);
  b.unary(UnaryFn::kNeg, 0);
  b.unary(UnaryFn::kAbs, 0);
  EXPECT_EQ(body.ops[1]->str_attr("fn"), "neg");
  EXPECT_EQ(body.ops[2]->str_attr("fn"), "abs");
  EXPECT_EQ(body.ops[3]->kind, OpKind::kCast);
  EXPECT_EQ(verify(kernel).to_string(), "ok");
}

TEST(Walk, finds_definitions_uses_and_dead_ops) {
  Kernel kernel = parse_kernel(kGridText).value();
  const std::vector<int> uses = count_uses(kernel);
  EXPECT_EQ(uses[6], 2);  // both inits of the loop
  EXPECT_EQ(uses[5], 4);  // index, compare, index, and the end of axis k
  EXPECT_EQ(defining_op(kernel, 13)->str_attr("fn"), "add");
  EXPECT_EQ(defining_op(kernel, 9), nullptr);
  int ops = 0, nested = 0;
  walk(kernel.body, [&](const Op&, const OpPlace& place) {
    ++ops;
    nested += place.parent != nullptr;
  });
  EXPECT_EQ(ops, nested + 1);
  replace_uses(kernel, 5, 4);
  EXPECT_EQ(kernel.axis(1).extent_value, 4);
  erase_dead_ops(kernel);
  EXPECT_EQ(defining_op(kernel, 5), nullptr);
  EXPECT_EQ(verify(kernel).to_string(), "ok");
}

}  // namespace
}  // namespace kaon::compiler
