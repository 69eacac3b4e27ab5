// print("text", values...) and assert(condition, "text"): what a kernel tells people.
#include "compiler/frontend/builtins.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;

constexpr size_t kMostPrinted = 8;

}  // namespace

Value KernelBuilder::print_call(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  if (node.children.empty() || node.children[0]->kind != ExpressionKind::kString) {
    return fail(node.range, "print begins with a text: print(\"x\", value)");
  }
  if (node.children.size() > kMostPrinted + 1) {
    return fail(node.range, "print shows at most " + std::to_string(kMostPrinted) + " values, got " +
                                std::to_string(node.children.size() - 1));
  }
  if (!stands_in_loop(node)) return Value::error();
  std::vector<Operand> operands;
  std::vector<ValueId> values;
  for (size_t i = 1; i < node.children.size(); ++i) {
    const Operand operand{expression(*node.children[i]), node.children[i].get()};
    if (operand.value.is_error() || !require_number(operand)) return Value::error();
    builder_.set_range(node.range);
    ValueId value = materialise(operand.value);
    const DType dtype = kernel_.type(value).dtype;
    if (dtype_is_float(dtype) && dtype_bytes(dtype) == 1) value = builder_.cast(value, DType::kF32);
    operands.push_back(operand);
    values.push_back(value);
  }
  builder_.set_range(node.range);
  if (!common_axes("print", node.range, operands, DType::kF32, &values)) return Value::error();
  builder_.insert(OpKind::kPrint, values).set_attr("text", node.children[0]->text);
  return Value::error();
}

Value KernelBuilder::assert_call(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const size_t count = node.children.size();
  if (count == 0 || count > 2 || (count == 2 && node.children[1]->kind != ExpressionKind::kString)) {
    return fail(node.range, "assert takes a condition and a text: assert(n < N, \"n is too large\")");
  }
  if (!stands_in_loop(node)) return Value::error();
  const Operand condition{expression(*node.children[0]), node.children[0].get()};
  if (condition.value.is_error() || !require_number(condition)) return Value::error();
  if (condition.value.is_literal() || type_of(condition.value).dtype != DType::kBool) {
    return fail(condition.node->range,
                "assert takes a bool, got " + describe(condition.value) + "; compare, as in x > 0");
  }
  builder_.set_range(node.range);
  Op& op = builder_.insert(OpKind::kAssert, {materialise(condition.value)});
  op.set_attr("message", count == 2 ? node.children[1]->text : std::string());
  return Value::error();
}

}  // namespace kaon::compiler
