// split, chunk, unbind, join, stack and concat: values cut into parts along an axis, and parts put together.
#include <algorithm>

#include "compiler/frontend/builtins.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

constexpr int64_t kMaxParts = 64;

bool is_tile(const Kernel& kernel, AxisId axis) {
  return axis != kUnitAxis && (kernel.axis(axis).kind == AxisKind::kTile || is_block(kernel.axis(axis)));
}

/// "2" of "2 equal parts" with its extent, for messages.
std::string axis_extent_text(const std::string& extent) { return "axis of extent " + extent; }

}  // namespace

/// The part of `value` along `dim` from `begin` on, whose axis is `part`.
ValueId KernelBuilder::cut(ValueId value, int dim, const HostInt& begin, AxisId part) {
  Type type = kernel_.type(value);
  if (type.axes[static_cast<size_t>(dim)] == part) return value;
  type.axes[static_cast<size_t>(dim)] = part;
  std::vector<ValueId> operands = {value};
  const std::optional<int64_t> constant = begin.constant();
  if (!constant) operands.push_back(materialise(Value::host_int(begin)));
  Op& op = builder_.insert(OpKind::kSlice, std::move(operands));
  op.set_attr("dim", static_cast<int64_t>(dim));
  if (constant) op.set_attr("begin", *constant);
  return builder_.add_result(op, type);
}

Value KernelBuilder::chunk(const ast::Expression& node) {
  if (!only_named(node, {"dim"})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  if (node.children.size() < 2) return fail(node.range, "chunk takes a value, a count and dim=: chunk(x, 2, dim=-1)");
  const std::optional<int64_t> count = constant(*node.children[1], "the count of chunk");
  if (!count) return Value::error();
  const Type type = kernel_.type(*value);
  const std::optional<int64_t> dim = dim_argument(node, 2, type.rank(), 0);
  if (!dim) return Value::error();
  if (*count < 1 || *count > kMaxParts) {
    return fail(node.children[1]->range,
                "chunk into " + std::to_string(*count) + " parts, expected 1 to " + std::to_string(kMaxParts));
  }
  const AxisId axis = type.axes[static_cast<size_t>(*dim)];
  if (is_tile(kernel_, axis)) {
    return fail(node.range, "chunk: axis " + describe_axis(axis) +
                                " is a tile, whose size is a knob; cut an axis of constant extent, or loop over parts");
  }
  const std::optional<HostInt> extent =
      axis == kUnitAxis ? std::optional<HostInt>(1) : ranges_[static_cast<size_t>(axis)].end;
  if (!extent)
    return fail(node.range, "chunk: the extent of axis " + describe_axis(axis) + " is only known on the device");
  std::optional<HostInt> part = extent->exact_quotient(*count);
  if (!part) {
    // `require N % 2 == 0` says that the remainder is not above 0.
    const std::optional<HostInt> rest = HostInt::binary(ExprOp::kMod, *extent, HostInt(*count));
    const std::optional<HostInt> below = rest ? HostInt::binary(ExprOp::kSub, HostInt(0), *rest) : std::nullopt;
    if (!extent->constant() && below && is_natural(*below)) {
      part = HostInt::binary(ExprOp::kFloorDiv, *extent, HostInt(*count));
    }
  }
  if (!part || part->constant() == 0) {
    return fail(node.range, "chunk: " + axis_extent_text(extent->to_string()) + " does not divide into " +
                                std::to_string(*count) + " equal parts" +
                                (extent->constant() ? "; take parts of any length as x[a:b]"
                                                    : "; if it does, say so with `require " + extent->to_string() +
                                                          " % " + std::to_string(*count) + " == 0`"));
  }
  builder_.set_range(node.range);
  std::vector<AxisId> others = type.axes;
  others.erase(others.begin() + static_cast<ptrdiff_t>(*dim));
  if (*count == 1) return Value::tuple({Value::typed(*value)});
  const AxisId part_id = part_axis(*part, others);
  std::vector<Value> parts;
  for (int64_t i = 0; i < *count; ++i) {
    const std::optional<HostInt> begin = HostInt::binary(ExprOp::kMul, *part, HostInt(i));
    if (!begin) return fail(node.range, "chunk: the bounds of a part grow beyond what a launch should evaluate");
    parts.push_back(Value::typed(cut(*value, static_cast<int>(*dim), *begin, part_id)));
  }
  return Value::tuple(std::move(parts));
}

/// Each index of an axis of constant extent by itself, without the axis.
Value KernelBuilder::unbound(const ast::Expression& node, ValueId value, int dim) {
  const AxisId axis = kernel_.type(value).axes[static_cast<size_t>(dim)];
  const std::optional<HostInt> extent =
      axis == kUnitAxis ? std::optional<HostInt>(1) : ranges_[static_cast<size_t>(axis)].end;
  const int64_t count = extent ? extent->constant().value_or(0) : 0;
  if (is_tile(kernel_, axis) || count < 1 || count > kMaxParts) {
    return fail(node.range, node.text + ": an axis of constant extent, 1 to " + std::to_string(kMaxParts) +
                                ", becomes that many values; this one is " + describe_axis(axis));
  }
  builder_.set_range(node.range);
  std::vector<Value> values;
  for (int64_t i = 0; i < count; ++i) {
    values.push_back(Value::typed(builder_.squeeze(cut(value, dim, HostInt(i), kUnitAxis), dim)));
  }
  return Value::tuple(std::move(values));
}

Value KernelBuilder::unbind(const ast::Expression& node) {
  if (!only_named(node, {"dim"})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  const std::optional<int64_t> dim = dim_argument(node, 1, kernel_.type(*value).rank(), 0);
  return dim ? unbound(node, *value, static_cast<int>(*dim)) : Value::error();
}

Value KernelBuilder::split(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  if (node.children.size() != 1)
    return fail(node.range, "split takes a value whose last axis has extent 2; chunk(x, n, dim) cuts any axis into n");
  const Type& type = kernel_.type(*value);
  const AxisId last = type.axes.empty() ? kUnitAxis : type.axes.back();
  const bool is_pair =
      last != kUnitAxis && !is_tile(kernel_, last) && ranges_[static_cast<size_t>(last)].end == HostInt(2);
  if (!is_pair) {
    return fail(node.range, "split takes a last axis of extent 2, got " + describe(Value::typed(*value)) +
                                (last == kUnitAxis ? "" : ", whose last axis is " + describe_axis(last)) +
                                "; chunk(x, n, dim) cuts any axis into n");
  }
  return unbound(node, *value, type.rank() - 1);
}

/// The values of a list in parentheses, or of the tuple that the first argument is.
bool KernelBuilder::listed_values(const ast::Expression& node, const char* usage, std::vector<Operand>* out) {
  if (node.children.empty()) {
    fail(node.range, node.text + " takes a list of values: " + usage);
    return false;
  }
  const Value list = expression(*node.children[0]);
  if (list.is_error()) return false;
  if (!list.is_tuple() || list.items.empty()) {
    fail(node.children[0]->range, node.text + " takes a list of values, got " + describe(list) + ": " + usage);
    return false;
  }
  for (const Value& item : list.items) {
    if (item.is_error()) return false;
    out->push_back({item, node.children[0].get()});
  }
  if (out->size() > static_cast<size_t>(kMaxParts)) {
    fail(node.range,
         node.text + " of " + std::to_string(out->size()) + " values, the most is " + std::to_string(kMaxParts));
    return false;
  }
  builder_.set_range(node.range);
  return true;
}

/// Values of one type side by side along a new axis at `dim`.
ValueId KernelBuilder::stacked(const std::vector<ValueId>& values, int dim) {
  std::vector<ValueId> parts;
  for (const ValueId value : values) parts.push_back(builder_.expand_dims(value, dim));
  if (parts.size() == 1) return parts[0];
  Type type = kernel_.type(parts[0]);
  type.axes[static_cast<size_t>(dim)] = part_axis(HostInt(static_cast<int64_t>(parts.size())), type.axes);
  Op& op = builder_.insert(OpKind::kConcat, std::move(parts));
  op.set_attr("dim", static_cast<int64_t>(dim));
  return builder_.add_result(op, type);
}

Value KernelBuilder::stack(const ast::Expression& node) {
  std::vector<Operand> operands;
  if (!only_named(node, {"dim"}) || !listed_values(node, find_builtin(node.text)->usage, &operands))
    return Value::error();
  std::vector<ValueId> values;
  if (!unify("stack", node.focus, operands, &values)) return Value::error();
  const std::optional<int64_t> dim = dim_argument(node, 1, kernel_.type(values[0]).rank() + 1, 0);
  if (!dim) return Value::error();
  builder_.set_range(node.range);
  return Value::typed(stacked(values, static_cast<int>(*dim)));
}

Value KernelBuilder::join(const ast::Expression& node) {
  std::vector<Operand> operands;
  std::vector<ValueId> values;
  if (!only_named(node, {}) || !operands_of(node, 2, 2, find_builtin(node.text)->usage, &operands))
    return Value::error();
  if (!unify("join", node.focus, operands, &values)) return Value::error();
  return Value::typed(stacked(values, kernel_.type(values[0]).rank()));
}

Value KernelBuilder::concat(const ast::Expression& node) {
  std::vector<Operand> operands;
  if (!only_named(node, {"dim"}) || !listed_values(node, find_builtin(node.text)->usage, &operands))
    return Value::error();
  DType dtype;
  if (!common_dtype("concat", node.focus, operands, &dtype)) return Value::error();
  std::vector<ValueId> values;
  for (const Operand& operand : operands) {
    if (operand.value.is_literal())
      return fail(operand.node->range, "concat puts tiles together, got a literal; full(...) makes a tile of it");
    values.push_back(materialise(operand.value));
  }
  Type type = kernel_.type(values[0]);
  const std::optional<int64_t> dim = dim_argument(node, 1, type.rank(), 0);
  if (!dim) return Value::error();
  const auto at = static_cast<size_t>(*dim);
  std::optional<HostInt> sum = HostInt(0);
  for (const ValueId value : values) {
    Type other = kernel_.type(value);
    if (other.axes.size() == type.axes.size()) {
      const AxisId part = other.axes[at];
      const std::optional<HostInt> extent = part == kUnitAxis        ? std::optional<HostInt>(1)
                                            : is_tile(kernel_, part) ? std::nullopt
                                                                     : ranges_[static_cast<size_t>(part)].end;
      if (!extent) {
        return fail(node.range, "concat along axis " + describe_axis(part) +
                                    ", whose extent only the device knows; "
                                    "store the parts one by one");
      }
      if (sum) sum = HostInt::binary(ExprOp::kAdd, *sum, *extent);
      other.axes[at] = type.axes[at];
    }
    if (other.axes != type.axes) {
      return fail(node.range, "concat: shapes match but for dim " + std::to_string(*dim) + ", got " +
                                  describe(Value::typed(values[0])) + " and " + describe(Value::typed(value)));
    }
  }
  if (!sum) return fail(node.range, "concat: the extents add up to an expression that is too large");
  builder_.set_range(node.range);
  if (values.size() == 1) return Value::typed(values[0]);
  type.axes[at] = kUnitAxis;
  type.axes[at] = part_axis(*sum, type.axes);
  Op& op = builder_.insert(OpKind::kConcat, std::move(values));
  op.set_attr("dim", *dim);
  return Value::typed(builder_.add_result(op, type));
}

}  // namespace kaon::compiler
