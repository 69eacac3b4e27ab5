// atomic_add(out, (i, n), value, mask=c, order="relaxed") and its kin.
#include "compiler/frontend/builtins.h"
#include "compiler/ir/atomics.h"

namespace kaon::compiler {
namespace {

const char* usage_of(AtomicFn fn) {
  return fn == AtomicFn::kCas ? "atomic_cas(out, (m, n), expected, value, mask=c)"
                              : "atomic_add(out, (m, n), value, mask=c, order=\"relaxed\")";
}

}  // namespace

// What an atomic changes has to be something before.
bool KernelBuilder::is_atomic_target(const Value& tensor, AtomicFn fn, SourceRange range) {
  const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(tensor.tensor)];
  const Note note = {facts_.places[param.name], param.name + " is declared here"};
  if (!is_output(tensor, range)) return false;
  if (!param.is_zeroed && param.aliases.empty()) {
    fail(range,
         "`" + param.name + "` holds nothing yet that an atomic could change; declare it with `= 0`, or with `alias`",
         {note});
    return false;
  }
  const std::string expected = why_illegal_operand(fn, param.dtype);
  if (expected.empty()) return true;
  const std::string mend = dtype_is_float(param.dtype) && dtype_bytes(param.dtype) > 1 ? "" : "; declare it as i32";
  fail(range,
       std::string("atomic_") + atomic_text(fn) + " takes " + expected + ", and `" + param.name + "` holds " +
           dtype_name(param.dtype) + mend,
       {note});
  return false;
}

bool KernelBuilder::order_argument(const ast::Expression& node, MemoryOrder* order) {
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name != "order") continue;
    const bool is_string = argument.value->kind == ast::ExpressionKind::kString;
    if (is_string && parse_order(argument.value->text, order)) return true;
    fail(argument.value->range, "order= is \"relaxed\", \"acquire\", \"release\" or \"acq_rel\"");
    return false;
  }
  return true;
}

Value KernelBuilder::atomic_call(const ast::Expression& node) {
  AtomicFn fn{};
  parse_atomic(node.text.substr(7), &fn);
  const std::string usage = usage_of(fn);
  if (!only_named(node, {"mask", "order"})) return Value::error();
  const size_t count = fn == AtomicFn::kCas ? 4 : 3;
  if (node.children.size() != count) {
    return fail(node.range, node.text + " takes " + std::to_string(count) + " arguments, got " +
                                std::to_string(node.children.size()) + ": " + usage);
  }
  const std::optional<Value> tensor = tensor_argument(node, usage.c_str());
  if (!tensor || !is_atomic_target(*tensor, fn, node.children[0]->range) || !stands_in_loop(node))
    return Value::error();
  Place place;
  MemoryOrder order = MemoryOrder::kRelaxed;
  if (!place_argument(node, *tensor, /*is_store=*/true, &place) || !order_argument(node, &order)) return Value::error();
  std::vector<ValueId> values;  // cas: what is expected, then the value
  for (size_t i = 2; i < count; ++i) {
    const Operand operand{expression(*node.children[i]), node.children[i].get()};
    builder_.set_range(node.range);
    const std::optional<ValueId> value = value_at(operand, *tensor, place, node.children[1]->range);
    if (!value) return Value::error();
    values.push_back(*value);
  }
  ValueId mask = kNoValue;
  if (!mask_argument(node, place, &mask)) return Value::error();
  builder_.set_range(node.range);
  const ValueId expected = fn == AtomicFn::kCas ? values[0] : kNoValue;
  return Value::typed(from_place(
      builder_.atomic(tensor->tensor, place.index, atomic_text(fn), order_text(order), values.back(), expected, mask),
      place));
}

}  // namespace kaon::compiler
