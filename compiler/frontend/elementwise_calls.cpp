// Element-wise functions of several arguments, and those that are compositions.
#include "compiler/frontend/builtins.h"

namespace kaon::compiler {

Value KernelBuilder::minimum_maximum(const ast::Expression& node) {
  const bool is_min = node.text == "minimum";
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 2, 2, find_builtin(node.text)->usage, &a)) return Value::error();
  auto host_of = [](const Value& v) {
    return v.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(v.int_value) : v.host;
  };
  const std::optional<HostInt> x = host_of(a[0].value);
  const std::optional<HostInt> y = host_of(a[1].value);
  if (x && y) {
    if (std::optional<HostInt> result = HostInt::binary(is_min ? ExprOp::kMin : ExprOp::kMax, *x, *y))
      return Value::host_int(*result);
  }
  return emit_binary(is_min ? BinaryFn::kMin : BinaryFn::kMax, node.text, node.focus, a[0], a[1]);
}

Value KernelBuilder::pow(const ast::Expression& node) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 2, 2, "pow(a, b)", &a)) return Value::error();
  return emit_binary(BinaryFn::kPow, "pow", node.focus, a[0], a[1]);
}

Value KernelBuilder::clamp(const ast::Expression& node) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 3, 3, "clamp(x, low, high)", &a)) return Value::error();
  const Value raised = emit_binary(BinaryFn::kMax, "clamp", node.focus, a[0], a[1]);
  if (raised.is_error()) return raised;
  return emit_binary(BinaryFn::kMin, "clamp", node.focus, {raised, &node}, a[2]);
}

Value KernelBuilder::where(const ast::Expression& node) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 3, 3, "where(condition, a, b)", &a)) return Value::error();
  if (a[0].value.is_literal() || type_of(a[0].value).dtype != DType::kBool) {
    return fail(a[0].node->range,
                "the condition of where is a bool, got " + describe(a[0].value) + "; compare, as in x > 0");
  }
  DType dtype;
  if (!common_dtype("where", node.focus, {a[1], a[2]}, &dtype)) return Value::error();
  std::vector<ValueId> values;
  for (const Operand& operand : a) {
    values.push_back(operand.value.is_literal() ? kNoValue : materialise(operand.value));
  }
  if (!common_axes("where", node.focus, a, dtype, &values)) return Value::error();
  return Value::typed(builder_.select(values[0], values[1], values[2]));
}

Value KernelBuilder::silu(const ast::Expression& node) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 1, 1, "silu(x)", &a)) return Value::error();
  const Value gate = emit_unary(UnaryFn::kSigmoid, node.focus, a[0]);
  if (gate.is_error()) return gate;
  return emit_binary(BinaryFn::kMul, "silu", node.focus, a[0], {gate, &node});
}

Value KernelBuilder::relu(const ast::Expression& node) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 1, 1, "relu(x)", &a)) return Value::error();
  if (a[0].value.is_literal()) return fail(node.range, "relu takes a value, got " + describe(a[0].value));
  return emit_binary(BinaryFn::kMax, "relu", node.focus, a[0], {Value::int_literal(0), &node});
}

}  // namespace kaon::compiler
