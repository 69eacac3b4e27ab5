// load(x, (m, n), mask=c, other=v) and store(out, (m, n), value, mask=c): memory with a mask.
#include "compiler/frontend/builtins.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;

constexpr const char* kLoadUsage = "load(x, (m, n), mask=c, other=v)";
constexpr const char* kStoreUsage = "store(out, (m, n), value, mask=c)";

const ast::NamedArgument* find_argument(const ast::Expression& node, const char* name) {
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name == name) return &argument;
  }
  return nullptr;
}

}  // namespace

// The tensor that the call begins with.
std::optional<Value> KernelBuilder::tensor_argument(const ast::Expression& node, const char* usage) {
  const Value tensor = expression(*node.children[0]);
  if (tensor.is_error()) return std::nullopt;
  if (tensor.kind == Value::Kind::kTensor) return tensor;
  fail(node.children[0]->range, node.text + " begins with a tensor, got " + describe(tensor) + ": " + usage);
  return std::nullopt;
}

// The second argument: a list of what a subscript would hold, or the one thing that it would.
bool KernelBuilder::place_argument(const ast::Expression& node, const Value& tensor, bool is_store, Place* out) {
  const ast::Expression& list = *node.children[1];
  Items items;
  if (list.kind == ExpressionKind::kTuple) {
    for (const ast::ExpressionPtr& item : list.children) items.push_back(item.get());
  } else {
    items.push_back(&list);
  }
  return place_of(items, list.range, tensor, is_store, out);
}

// mask=: a bool for each element of the place. kNoValue when there is none.
bool KernelBuilder::mask_argument(const ast::Expression& node, const Place& place, ValueId* mask) {
  const ast::NamedArgument* argument = find_argument(node, "mask");
  if (argument == nullptr) return true;
  const Operand operand{expression(*argument->value), argument->value.get()};
  if (operand.value.is_error() || !require_number(operand)) return false;
  const Type type = type_of(operand.value);
  if (operand.value.is_literal() || type.dtype != DType::kBool) {
    fail(operand.node->range, "a mask is a bool, got " + describe(operand.value) + "; compare, as in m.index < n");
    return false;
  }
  bool matches = type.axes.size() <= place.axes.size();
  for (size_t i = 0; matches && i < type.axes.size(); ++i) {
    const AxisId axis = type.axes[type.axes.size() - 1 - i];
    matches = axis == kUnitAxis || axis == place.axes[place.axes.size() - 1 - i];
  }
  if (!matches) {
    const std::string view = type.axes.size() < place.axes.size() ? mend_for_axes(type.axes, place.axes) : "";
    fail(operand.node->range, "the mask has shape " + axes_text(kernel_, type.axes) + ", what it masks has " +
                                  axes_text(kernel_, place.axes) +
                                  (view.empty() ? "" : "; write " + view + " after the mask to place its axes"));
    return false;
  }
  *mask = to_place(materialise(operand.value), place);
  return true;
}

bool KernelBuilder::is_output(const Value& tensor, SourceRange range) {
  const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(tensor.tensor)];
  stored_[static_cast<size_t>(tensor.tensor)] = true;
  if (param.is_output) return true;
  fail(range,
       "`" + param.name + "` is an input; only outputs can be stored to, and one declared `alias " + param.name +
           "` may be the same memory",
       {{facts_.places[param.name], param.name + " is declared here"}});
  return false;
}

bool KernelBuilder::stands_in_loop(const ast::Expression& node) {
  if (loop_depth_ > 0) return true;
  fail(node.range, node.text + "(...) belongs inside the tile loop");
  return false;
}

Value KernelBuilder::load_call(const ast::Expression& node) {
  if (!only_named(node, {"mask", "other"})) return Value::error();
  if (node.children.size() != 2) {
    return fail(node.range, "load takes a tensor and a list of indices, got " + std::to_string(node.children.size()) +
                                (node.children.size() == 1 ? " argument: " : " arguments: ") + kLoadUsage);
  }
  const std::optional<Value> tensor = tensor_argument(node, kLoadUsage);
  if (!tensor || !is_readable(*tensor, node.range)) return Value::error();
  Place place;
  ValueId mask = kNoValue;
  ValueId other = kNoValue;
  if (!place_argument(node, *tensor, /*is_store=*/false, &place)) return Value::error();
  if (!mask_argument(node, place, &mask)) return Value::error();
  if (const ast::NamedArgument* argument = find_argument(node, "other")) {
    if (mask == kNoValue)
      return fail(argument->name_range, "`other=` is what lanes hold that `mask=` leaves out; give a mask");
    const Operand operand{expression(*argument->value), argument->value.get()};
    const std::optional<ValueId> value = value_at(operand, *tensor, place, node.children[1]->range);
    if (!value) return Value::error();
    other = *value;
  }
  builder_.set_range(node.range);
  return Value::typed(from_place(builder_.load(tensor->tensor, place.index, mask, other), place));
}

Value KernelBuilder::store_call(const ast::Expression& node) {
  if (!only_named(node, {"mask"})) return Value::error();
  if (node.children.size() != 3) {
    return fail(node.range, "store takes a tensor, a list of indices and a value, got " +
                                std::to_string(node.children.size()) +
                                (node.children.size() == 1 ? " argument: " : " arguments: ") + kStoreUsage);
  }
  const std::optional<Value> tensor = tensor_argument(node, kStoreUsage);
  if (!tensor || !is_output(*tensor, node.children[0]->range) || !stands_in_loop(node)) return Value::error();
  Place place;
  ValueId mask = kNoValue;
  if (!place_argument(node, *tensor, /*is_store=*/true, &place)) return Value::error();
  const Operand operand{expression(*node.children[2]), node.children[2].get()};
  builder_.set_range(node.range);
  if (operand.value.is_typed()) adopt_axes(type_of(operand.value), &place);
  const std::optional<ValueId> value = value_at(operand, *tensor, place, node.children[1]->range);
  if (!value || !mask_argument(node, place, &mask)) return Value::error();
  builder_.set_range(node.range);
  const Op& op = builder_.store(tensor->tensor, place.index, *value, mask);
  if (mask == kNoValue) stores_.push_back(&op);
  return Value::error();
}

// A call that stands as a statement; the parser lets through those that do something.
void KernelBuilder::call_statement(const ast::Statement& statement) {
  const ast::Expression& node = *statement.value;
  if (node.text == "store") {
    store_call(node);
  } else if (node.text == "print") {
    print_call(node);
  } else if (node.text == "assert") {
    assert_call(node);
  } else {
    call(node);
  }
}

}  // namespace kaon::compiler
