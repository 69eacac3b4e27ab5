// zeros, full and arange: values that come from no tensor.
#include <algorithm>

#include "compiler/frontend/builtins.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {

std::optional<DType> KernelBuilder::dtype_argument(const ast::Expression& node, const char* usage) {
  if (!node.children.empty() && node.children[0]->kind == ast::ExpressionKind::kName) {
    if (std::optional<DType> dtype = dtype_named(node.children[0]->text)) return dtype;
  }
  fail(node.children.empty() ? node.range : node.children[0]->range,
       node.text + " begins with an element type: " + usage);
  return std::nullopt;
}

// Arguments from `first` on are axes: a tile variable, or an extent that the host knows.
std::optional<std::vector<AxisId>> KernelBuilder::shape(const ast::Expression& node, size_t first) {
  std::vector<AxisId> axes;
  for (size_t i = first; i < node.children.size(); ++i) {
    const ast::Expression& item = *node.children[i];
    const Value value = expression(item);
    if (value.is_error()) return std::nullopt;
    AxisId axis = value.axis;
    if (value.kind != Value::Kind::kTileVariable && value.kind != Value::Kind::kBlock) {
      const std::optional<HostInt> extent =
          value.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(value.int_value) : value.host;
      if (!extent || !is_natural(*extent)) {
        fail(item.range,
             "an axis is a tile variable, a dimension or a constant that is not negative, got " + describe(value));
        return std::nullopt;
      }
      axis = extent->constant() == 1 ? kUnitAxis : whole_axis(*extent, 0, AxisKind::kStatic);
    }
    const bool is_twice = axis != kUnitAxis && std::any_of(axes.begin(), axes.end(), [&](AxisId other) {
      return block_of(kernel_, other) == block_of(kernel_, axis);
    });
    if (is_twice) {
      fail(item.range, "axis " + describe_axis(axis) + " is listed twice; a value has an axis once");
      return std::nullopt;
    }
    axes.push_back(axis);
  }
  if (axes.size() > static_cast<size_t>(kMaxRank)) {
    fail(node.range, "a value of " + std::to_string(axes.size()) + " axes, the most is " + std::to_string(kMaxRank));
    return std::nullopt;
  }
  return axes;
}

Value KernelBuilder::zeros(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<DType> dtype = dtype_argument(node, "zeros(f32, m, n)");
  if (!dtype) return Value::error();
  const std::optional<std::vector<AxisId>> axes = shape(node, 1);
  if (!axes) return Value::error();
  builder_.set_range(node.range);
  return Value::typed(dtype_is_float(*dtype) ? builder_.float_const(*dtype, 0.0, *axes)
                                             : builder_.int_const(*dtype, 0, *axes));
}

Value KernelBuilder::full(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<DType> dtype = dtype_argument(node, "full(f32, value, m, n)");
  if (!dtype) return Value::error();
  if (node.children.size() < 2) return fail(node.range, "full takes a type, a value and axes: full(f32, value, m, n)");
  const Operand fill{expression(*node.children[1]), node.children[1].get()};
  if (fill.value.is_error() || !require_number(fill)) return Value::error();
  const std::optional<std::vector<AxisId>> axes = shape(node, 2);
  if (!axes) return Value::error();
  builder_.set_range(node.range);
  ValueId value = kNoValue;
  if (fill.value.is_literal()) {
    if (fill.value.kind == Value::Kind::kFloatLiteral && !dtype_is_float(*dtype)) {
      return fail(fill.node->range,
                  "a float literal cannot fill " + std::string(dtype_name(*dtype)) + "; write the integer");
    }
    const int errors = diagnostics_.num_errors();
    value = literal_as(fill.value, *dtype, fill.node->range, *axes);
    if (diagnostics_.num_errors() != errors) return Value::error();
  } else {
    const Type& type = type_of(fill.value);
    if (!type.is_scalar() || type.dtype != *dtype) {
      return fail(fill.node->range, "full(" + node.children[0]->text + ", ...) is filled with one " +
                                        dtype_name(*dtype) + ", got " + describe(fill.value));
    }
    value = materialise(fill.value);
  }
  return Value::typed(builder_.broadcast_to(value, *axes));
}

Value KernelBuilder::arange(const ast::Expression& node) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 1, 2, find_builtin("arange")->usage, &a)) return Value::error();
  std::vector<HostInt> bounds = {HostInt(0)};
  for (const Operand& operand : a) {
    const Value& value = operand.value;
    const std::optional<HostInt> host =
        value.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(value.int_value) : value.host;
    if (!host)
      return fail(operand.node->range,
                  "bounds of arange are constants, dimensions or i64 parameters, got " + describe(value));
    bounds.push_back(*host);
  }
  const HostInt& begin = bounds[bounds.size() - 2];
  const std::optional<HostInt> extent = HostInt::binary(ExprOp::kSub, bounds.back(), begin);
  if (!extent || !is_natural(*extent)) {
    return fail(node.range,
                "arange(" + begin.to_string() + ", " + bounds.back().to_string() + ") could have a negative length");
  }
  const ValueId index = builder_.index(whole_axis(*extent, 0, AxisKind::kStatic));
  if (begin == HostInt(0)) return Value::typed(index);
  const ValueId offset = builder_.broadcast_to(materialise(Value::host_int(begin)), kernel_.type(index).axes);
  return Value::typed(builder_.binary(BinaryFn::kAdd, index, offset));
}

}  // namespace kaon::compiler
