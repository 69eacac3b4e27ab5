// Folds and scans by a function: reduce, argmax and argmin, associative_scan, cumsum and cumprod.
#include <algorithm>
#include <functional>

#include "compiler/frontend/builtins.h"
#include "compiler/ir/combine.h"

namespace kaon::compiler {

/// The value or tuple that a fold or scan is over: its members, brought to common axes.
bool KernelBuilder::tuple_members(const ast::Expression& node, const ast::Expression& list,
                                  std::vector<ValueId>* members) {
  const Value value = expression(list);
  if (value.is_error()) return false;
  std::vector<Operand> operands;
  if (!value.is_tuple()) operands.push_back({value, &list});
  for (size_t i = 0; i < value.items.size(); ++i) {
    const bool has_own = list.kind == ast::ExpressionKind::kTuple && list.children.size() == value.items.size();
    operands.push_back({value.items[i], has_own ? list.children[i].get() : &list});
  }
  DType widest = DType::kF32;
  for (const Operand& operand : operands) {
    if (!require_number(operand)) return false;
    if (operand.value.is_literal()) {
      fail(operand.node->range,
           node.text + " needs an element type here, which a literal has none of; cast it, as in f32(0)");
      return false;
    }
    if (reject_storage_type(node.text, operand)) return false;
    widest = type_of(operand.value).dtype;
    members->push_back(materialise(operand.value));
  }
  if (!common_axes(node.text, node.focus, operands, widest, members)) return false;
  const std::vector<AxisId>& axes = kernel_.type(members->front()).axes;
  if (lacks_parent(list.range, "the argument of " + node.text, axes)) return false;
  if (!axes.empty()) return true;
  fail(list.range, node.text + " goes along an axis, but " + describe(operands[0].value) + " is a single number");
  return false;
}

/// The one axis of `node`: argument `position` or dim=.
std::optional<int64_t> KernelBuilder::single_dim(const ast::Expression& node, size_t position, int rank) {
  const ast::Expression* chosen = node.children.size() > position ? node.children[position].get() : nullptr;
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name != "dim") continue;
    if (chosen != nullptr) {
      fail(argument.name_range, "dim is given twice, once by its place and once as dim=");
      return std::nullopt;
    }
    chosen = argument.value.get();
  }
  if (chosen == nullptr && rank == 1) return 0;
  if (chosen == nullptr) {
    fail(node.range, node.text + " goes along one axis; say which of the " + std::to_string(rank) +
                         ", as in dim=" + std::to_string(rank - 1));
    return std::nullopt;
  }
  const std::optional<int64_t> dim = constant(*chosen, "dim=");
  if (!dim) return std::nullopt;
  if (*dim < -rank || *dim >= rank) {
    fail(chosen->range, "dim " + std::to_string(*dim) + " is outside the value's " + std::to_string(rank) +
                            (rank == 1 ? " axis" : " axes") + ", which are " + std::to_string(-rank) + " to " +
                            std::to_string(rank - 1));
    return std::nullopt;
  }
  return *dim < 0 ? *dim + rank : *dim;
}

std::optional<bool> KernelBuilder::reversed(const ast::Expression& node) {
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name == "reverse") return flag(*argument.value, "reverse=");
  }
  return false;
}

/// Makes the op's region of what `function` does to two tuples of scalars; results get no values yet.
bool KernelBuilder::build_combine(Op& op, const Value& function, SourceRange range) {
  const size_t size = op.operands.size();
  if (function.function != nullptr && function.function->params.size() != 2 * size) {
    const ast::Function& fn = *function.function;
    fail(range,
         "`" + function.name + "` combines two tuples of " + std::to_string(size) + ", so it takes " +
             std::to_string(2 * size) + " parameters, those of the left tuple first; it has " +
             std::to_string(fn.params.size()),
         {{fn.name.range, fn.name.text + " is declared here"}});
    return false;
  }
  std::vector<Value> arguments;
  Region& region = op.regions.emplace_back();
  for (size_t i = 0; i < 2 * size; ++i) {
    const Type type{kernel_.type(op.operands[i % size]).dtype, {}};
    std::string name = function.function != nullptr ? function.function->params[i].text : "";
    region.args.push_back(kernel_.new_value(type, std::move(name)));
    arguments.push_back(Value::typed(region.args.back()));
  }
  Region& outer = builder_.region();
  const size_t position = builder_.position();
  builder_.set_insertion(region, 0);
  host_values_.emplace_back();
  const Value result = apply_function(function, std::move(arguments), range);
  const bool ok = !result.is_error() && yield_combined(op, function, result, range);
  host_values_.pop_back();
  builder_.set_insertion(outer, position);
  return ok;
}

bool KernelBuilder::yield_combined(const Op& op, const Value& function, const Value& result, SourceRange range) {
  const size_t size = op.operands.size();
  const std::string who = "`" + function.name + "`";
  const std::vector<Value> items = result.is_tuple() ? result.items : std::vector<Value>{result};
  if (items.size() != size) {
    fail(range, who + " combines two tuples of " + std::to_string(size) + " into one, so it returns " +
                    std::to_string(size) + (size == 1 ? " value" : " values") + ", got " + describe(result));
    return false;
  }
  for (const auto& inner : builder_.region().ops) {
    if (may_combine(inner->kind)) continue;
    const bool branches = inner->kind == OpKind::kIf || inner->kind == OpKind::kWhile;
    fail(range, who + " combines single numbers, so it only computes; it cannot " +
                    (branches ? "branch: choose by where(condition, a, b)" : std::string(op_info(inner->kind).text)));
    return false;
  }
  std::vector<ValueId> yields;
  for (size_t i = 0; i < size; ++i) {
    const DType dtype = kernel_.type(op.operands[i]).dtype;
    if (items[i].is_literal()) {
      const int errors = diagnostics_.num_errors();
      yields.push_back(literal_as(items[i], dtype, range));
      if (diagnostics_.num_errors() != errors) return false;
      continue;
    }
    const Type got = type_of(items[i]);
    if (got != Type{dtype, {}}) {
      fail(range, "value " + std::to_string(i + 1) + " that " + who +
                      " returns becomes that of the next tuple, so it is " + dtype_name(dtype) + ", got " +
                      describe(items[i]) + "; cast it, as in " + dtype_name(dtype) + "(...)");
      return false;
    }
    yields.push_back(materialise(items[i]));
  }
  builder_.insert(OpKind::kYield, std::move(yields));
  return true;
}

/// A fold whose region `fill` makes; one value for each member.
Value KernelBuilder::emit_fold(std::vector<ValueId> members, std::vector<int64_t> dims, bool keepdim,
                               const std::function<bool(Op&)>& fill) {
  std::vector<int64_t> left;
  for (ValueId& member : members) {
    left = dims;
    member = drop_unit_dims(member, &left, keepdim);
  }
  if (!left.empty()) {
    Op& op = builder_.insert(OpKind::kFold, members);
    op.set_attr("dims", left);
    op.set_attr("keepdim", static_cast<int64_t>(keepdim));
    if (!fill(op)) return Value::error();
    for (ValueId& member : members) {
      Type type{kernel_.type(member).dtype, {}};
      const std::vector<AxisId>& axes = kernel_.type(member).axes;
      for (size_t i = 0; i < axes.size(); ++i) {
        const bool folded = std::find(left.begin(), left.end(), static_cast<int64_t>(i)) != left.end();
        if (!folded) type.axes.push_back(axes[i]);
        if (folded && keepdim) type.axes.push_back(kUnitAxis);
      }
      member = kernel_.new_value(std::move(type));
      op.results.push_back(member);
    }
  }
  return combined_value(members);
}

Value KernelBuilder::emit_scan(std::vector<ValueId> members, int64_t dim, bool reverse,
                               const std::function<bool(Op&)>& fill) {
  if (kernel_.type(members[0]).axes[static_cast<size_t>(dim)] != kUnitAxis) {
    Op& op = builder_.insert(OpKind::kScan, members);
    op.set_attr("dim", dim);
    op.set_attr("reverse", static_cast<int64_t>(reverse));
    if (!fill(op)) return Value::error();
    for (ValueId& member : members) {
      member = kernel_.new_value(Type(kernel_.type(member)));
      op.results.push_back(member);
    }
  }
  return combined_value(members);
}

Value KernelBuilder::combined_value(const std::vector<ValueId>& members) {
  if (members.size() == 1) return Value::typed(members[0]);
  std::vector<Value> items;
  for (ValueId member : members) items.push_back(Value::typed(member));
  return Value::tuple(std::move(items));
}

Value KernelBuilder::reduce_by_function(const ast::Expression& node) {
  const char* usage = find_builtin(node.text)->usage;
  if (node.children.size() < 2 || node.children.size() > 3) {
    return fail(node.range, std::string("reduce takes a function and a value or tuple, got ") +
                                std::to_string(node.children.size()) + " arguments: " + usage);
  }
  if (!only_named(node, {"dim", "keepdim"})) return Value::error();
  const Value function = function_argument(*node.children[0], usage);
  std::vector<ValueId> members;
  if (function.is_error() || !tuple_members(node, *node.children[1], &members)) return Value::error();
  std::vector<int64_t> dims;
  bool keepdim = false;
  const std::vector<AxisId> axes = kernel_.type(members[0]).axes;
  if (!reduced_dims(node, 2, static_cast<int>(axes.size()), &dims, &keepdim)) return Value::error();
  if (folds_parent(node.range, node.text, axes, dims)) return Value::error();
  builder_.set_range(node.range);
  return emit_fold(members, dims, keepdim, [&](Op& op) { return build_combine(op, function, node.focus); });
}

Value KernelBuilder::associative_scan(const ast::Expression& node) {
  const char* usage = find_builtin(node.text)->usage;
  if (node.children.size() < 2 || node.children.size() > 3) {
    return fail(node.range, std::string("associative_scan takes a function and a value or tuple, got ") +
                                std::to_string(node.children.size()) + " arguments: " + usage);
  }
  if (!only_named(node, {"dim", "reverse"})) return Value::error();
  const Value function = function_argument(*node.children[0], usage);
  std::vector<ValueId> members;
  if (function.is_error() || !tuple_members(node, *node.children[1], &members)) return Value::error();
  const std::optional<int64_t> dim = single_dim(node, 2, kernel_.type(members[0]).rank());
  const std::optional<bool> reverse = reversed(node);
  if (!dim || !reverse) return Value::error();
  builder_.set_range(node.range);
  return emit_scan(members, *dim, *reverse, [&](Op& op) { return build_combine(op, function, node.focus); });
}

Value KernelBuilder::cumulative(const ast::Expression& node) {
  const char* usage = find_builtin(node.text)->usage;
  if (node.children.empty() || node.children.size() > 2) {
    return fail(node.range, node.text + " takes a value, dim= and reverse=, got " +
                                std::to_string(node.children.size()) + " arguments: " + usage);
  }
  if (!only_named(node, {"dim", "reverse"})) return Value::error();
  std::vector<ValueId> members;
  if (!tuple_members(node, *node.children[0], &members)) return Value::error();
  if (members.size() != 1) {
    return fail(node.children[0]->range,
                node.text + " takes one value; scan a tuple by associative_scan(fn, (a, b), dim=)");
  }
  const Type& type = kernel_.type(members[0]);
  const BinaryFn fn = node.text == "cumsum" ? BinaryFn::kAdd : BinaryFn::kMul;
  const std::string expected = why_illegal_operand(fn, type.dtype);
  if (!expected.empty()) {
    return fail(node.range,
                node.text + " takes " + expected + ", got " + dtype_name(type.dtype) + "; cast, as in i32(...)");
  }
  const std::optional<int64_t> dim = single_dim(node, 1, type.rank());
  const std::optional<bool> reverse = reversed(node);
  if (!dim || !reverse) return Value::error();
  builder_.set_range(node.range);
  return emit_scan(members, *dim, *reverse, [&](Op& op) {
    Region& region = op.regions.emplace_back();
    for (int i = 0; i < 2; ++i) region.args.push_back(kernel_.new_value(Type{kernel_.type(op.operands[0]).dtype, {}}));
    Builder inside(kernel_, region);
    inside.set_range(node.range);
    const ValueId sum = inside.binary(fn, region.args[0], region.args[1]);
    inside.insert(OpKind::kYield, {sum});
    return static_cast<bool>(inside.status());
  });
}

/// Of two elements with their coordinates, the better one: NaN before numbers, then by value, then the lower
/// coordinate.
void KernelBuilder::choose_better(Region& region, bool is_max) {
  Builder b(kernel_, region);
  const ValueId left = region.args[0], left_at = region.args[1], right = region.args[2], right_at = region.args[3];
  ValueId takes_right = b.compare(is_max ? CompareFn::kGt : CompareFn::kLt, right, left);
  ValueId ties = b.compare(CompareFn::kEq, right, left);
  if (dtype_is_float(kernel_.type(left).dtype)) {
    const ValueId left_nan = b.unary(UnaryFn::kIsNan, left);
    const ValueId right_nan = b.unary(UnaryFn::kIsNan, right);
    const ValueId first_nan = b.binary(BinaryFn::kAnd, right_nan, b.unary(UnaryFn::kNot, left_nan));
    takes_right = b.binary(BinaryFn::kOr, takes_right, first_nan);
    ties = b.binary(BinaryFn::kOr, ties, b.binary(BinaryFn::kAnd, left_nan, right_nan));
  }
  const ValueId is_lower = b.compare(CompareFn::kLt, right_at, left_at);
  takes_right = b.binary(BinaryFn::kOr, takes_right, b.binary(BinaryFn::kAnd, ties, is_lower));
  const ValueId value = b.select(takes_right, right, left);
  const ValueId at = b.select(takes_right, right_at, left_at);
  b.insert(OpKind::kYield, {value, at});
}

Value KernelBuilder::arg_extremum(const ast::Expression& node) {
  const char* usage = find_builtin(node.text)->usage;
  if (node.children.empty() || node.children.size() > 2) {
    return fail(node.range, node.text + " takes a value, dim= and keepdim=, got " +
                                std::to_string(node.children.size()) + " arguments: " + usage);
  }
  if (!only_named(node, {"dim", "keepdim"})) return Value::error();
  std::vector<ValueId> members;
  if (!tuple_members(node, *node.children[0], &members)) return Value::error();
  if (members.size() != 1) return fail(node.children[0]->range, node.text + " takes one value, got a tuple");
  const Type type = kernel_.type(members[0]);
  if (type.dtype == DType::kBool)
    return fail(node.range, node.text + " takes floats or integers, got bool; cast, as in i32(...)");
  const std::optional<int64_t> dim = single_dim(node, 1, type.rank());
  if (!dim || folds_parent(node.range, node.text, type.axes, {*dim})) return Value::error();
  bool keepdim = false;
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name != "keepdim") continue;
    const std::optional<bool> value = flag(*argument.value, "keepdim=");
    if (!value) return Value::error();
    keepdim = *value;
  }
  builder_.set_range(node.range);
  const AxisId axis = type.axes[static_cast<size_t>(*dim)];
  ValueId at = axis == kUnitAxis ? builder_.int_const(DType::kI64, 0) : builder_.index(axis);
  for (int64_t i = *dim + 1; axis != kUnitAxis && i < type.rank(); ++i) {
    at = builder_.expand_dims(at, kernel_.type(at).rank());
  }
  members.push_back(builder_.broadcast_to(at, type.axes));
  const Value folded = emit_fold(members, {*dim}, keepdim, [&](Op& op) {
    Region& region = op.regions.emplace_back();
    for (size_t i = 0; i < 4; ++i) {
      region.args.push_back(kernel_.new_value(Type{kernel_.type(op.operands[i % 2]).dtype, {}}));
    }
    choose_better(region, node.text == "argmax");
    return true;
  });
  return folded.items[1];
}

}  // namespace kaon::compiler
