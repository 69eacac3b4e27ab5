// dot(a, b), dot(a, b, acc) and a @ b: matching the axes of two matrices and saying why they do not match.
#include <algorithm>

#include "compiler/frontend/builtins.h"
#include "compiler/ir/dot_rules.h"
#include "compiler/ir/jagged.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

constexpr const char* kUsage = "dot(a, b) or dot(a, b, acc) of a[..., m, k] and b[..., k, n]";

bool has(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace

Value KernelBuilder::dot(const ast::Expression& node) {
  std::vector<Operand> operands;
  if (!only_named(node, {"acc", "out_dtype"}) || !operands_of(node, 2, 3, kUsage, &operands)) return Value::error();
  std::optional<DType> out;
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name == "acc") {
      if (operands.size() == 3) {
        return fail(argument.name_range, "acc is given twice, once by its place and once as acc=");
      }
      operands.push_back({expression(*argument.value), argument.value.get()});
      if (operands.back().value.is_error() || !require_number(operands.back())) return Value::error();
      continue;
    }
    if (argument.value->kind == ast::ExpressionKind::kName) out = dtype_named(argument.value->text);
    if (!out) return fail(argument.value->range, "out_dtype= is an element type, as in out_dtype=f32");
  }
  builder_.set_range(node.range);
  const Operand* acc = operands.size() == 3 ? &operands[2] : nullptr;
  Value result = matrix_product("dot", node.range, operands[0], operands[1], acc);
  if (result.is_error() || !out) return result;
  builder_.set_range(node.range);
  return Value::typed(builder_.cast(result.id, *out));
}

Value KernelBuilder::matrix_product(const std::string& text, SourceRange range, const Operand& a, const Operand& b,
                                    const Operand* acc) {
  for (const Operand* operand : {&a, &b}) {
    if (operand->value.is_error() || !require_number(*operand)) return Value::error();
    const size_t rank = operand->value.is_literal() ? 0 : type_of(operand->value).axes.size();
    if (rank >= 2) continue;
    return fail(operand->node->range,
                "`" + text + "` multiplies tiles of at least 2 axes, [..., m, k] and [..., k, n], got " +
                    describe(operand->value) +
                    (rank == 1 ? "; add an axis with [None, :] or [:, None], or write sum(a * b)" : "; write `*`"));
  }
  DType sum{};
  if (!dot_dtype(text, range, a, b, &sum)) return Value::error();
  std::vector<ValueId> values = {materialise(a.value), materialise(b.value)};
  const size_t rank = std::max(kernel_.type(values[0]).axes.size(), kernel_.type(values[1]).axes.size());
  for (ValueId& value : values) {
    while (kernel_.type(value).axes.size() < rank) value = builder_.expand_dims(value, 0);
  }
  std::vector<AxisId> axes;
  if (!dot_axes_meet(text, range, a, b, values, &axes) || meets_jagged(text, range, values)) return Value::error();
  if (acc != nullptr) {
    const std::optional<ValueId> start = accumulator(*acc, sum, axes);
    if (!start) return Value::error();
    values.push_back(*start);
  }
  Op& op = builder_.insert(OpKind::kDot, values);
  return Value::typed(builder_.add_result(op, Type{}));
}

bool KernelBuilder::dot_dtype(const std::string& text, SourceRange range, const Operand& a, const Operand& b,
                              DType* sum) {
  const DType left = type_of(a.value).dtype;
  const DType right = type_of(b.value).dtype;
  for (const Operand* operand : {&a, &b}) {
    const DType dtype = type_of(operand->value).dtype;
    if (dot_sum_dtype(dtype, sum)) continue;
    fail(operand->node->range, "`" + text + "` takes f16, bf16, f32, f64, f8e4m3, f8e5m2, i8 and u8, got " +
                                   dtype_name(dtype) + "; cast, as in f32(...)");
    return false;
  }
  if (left == right) return true;
  fail(range, std::string(dtype_name(left)) + " and " + dtype_name(right) + " do not mix in `" + text +
                  "`; cast one, as in " + dtype_name(dtype_bytes(left) < dtype_bytes(right) ? right : left) + "(...)");
  return false;
}

/// Checks the axes of two values of one rank, and gives those of their product.
bool KernelBuilder::dot_axes_meet(const std::string& text, SourceRange range, const Operand& a, const Operand& b,
                                  const std::vector<ValueId>& values, std::vector<AxisId>* axes) {
  const std::vector<AxisId> left = kernel_.type(values[0]).axes;
  const std::vector<AxisId> right = kernel_.type(values[1]).axes;
  const size_t rank = left.size();
  const std::vector<Note> notes = {{a.node->range, "this is " + type_text(kernel_, type_of(a.value))},
                                   {b.node->range, "this is " + type_text(kernel_, type_of(b.value))}};
  const auto axis_text = [&](AxisId axis) {
    return axis == kUnitAxis ? std::string("an axis of extent 1") : "axis " + describe_axis(axis);
  };
  const AxisId summed = left[rank - 1];
  if (summed != right[rank - 2]) {
    std::string mend = "; both must come from one tile variable, or from `:` over dimensions of one extent";
    if (summed == right[rank - 1])
      mend = "; turn the second, as in b.t()";
    else if (left[rank - 2] == right[rank - 2])
      mend = "; turn the first, as in a.t()";
    else if (left[rank - 2] == right[rank - 1])
      mend = "; swap the operands, or turn both";
    fail(range,
         "`" + text + "` sums over the last axis of the first operand and the last but one of the second, which " +
             "differ: " + axis_text(summed) + " meets " + axis_text(right[rank - 2]) + mend,
         notes);
    return false;
  }
  if (summed == kUnitAxis) {
    fail(range, "`" + text + "` would sum over an axis of extent 1; write `*`, which broadcasts", notes);
    return false;
  }
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (left[i] != right[i] && left[i] != kUnitAxis && right[i] != kUnitAxis) {
      fail(range,
           "the leading axes do not match in `" + text + "`: " + axis_text(left[i]) + " meets " + axis_text(right[i]),
           notes);
      return false;
    }
    axes->push_back(left[i] == kUnitAxis ? right[i] : left[i]);
  }
  for (const AxisId axis : {left[rank - 2], right[rank - 1]}) {
    if (axis != kUnitAxis && (has(*axes, axis) || axis == summed)) {
      fail(range,
           "the product of `" + text + "` would have axis " + kernel_.axis(axis).name +
               " twice; a value has an axis once; go over one of them with a tile variable of its own",
           notes);
      return false;
    }
    axes->push_back(axis);
  }
  return true;
}

/// Tiles of rows of several lengths have no one shape that a product could have: each row is a matrix of its own.
bool KernelBuilder::meets_jagged(const std::string& text, SourceRange range, const std::vector<ValueId>& values) {
  for (const ValueId value : values) {
    for (const AxisId axis : kernel_.type(value).axes) {
      if (axis == kUnitAxis) continue;
      for (const AxisId parent : parents_of(kernel_, axis)) {
        if (kernel_.axis(parent).fixed_block == 1) continue;
        fail(range, "`" + text + "` takes no tile along jagged axis " + kernel_.axis(axis).name + ", which ends at " +
                        "another place for each lane of " + kernel_.axis(parent).name +
                        "; take one row at a time, with block=1 for " + kernel_.axis(parent).name +
                        " and tile(length)");
        return true;
      }
    }
  }
  return false;
}

std::optional<ValueId> KernelBuilder::accumulator(const Operand& acc, DType sum, const std::vector<AxisId>& axes) {
  if (acc.value.is_literal()) {
    const int errors = diagnostics_.num_errors();
    const ValueId value = literal_as(acc.value, sum, acc.node->range, axes);
    return diagnostics_.num_errors() == errors ? std::optional<ValueId>(value) : std::nullopt;
  }
  const Type type = type_of(acc.value);
  const std::string wanted = type_text(kernel_, Type{sum, axes});
  if (type.dtype != sum) {
    fail(acc.node->range, "the accumulator of these operands is " + wanted + ", got " + type_text(kernel_, type) +
                              "; start with zeros(" + dtype_name(sum) + ", ...), or cast");
    return std::nullopt;
  }
  bool fits = type.axes.size() <= axes.size();
  const size_t shift = fits ? axes.size() - type.axes.size() : 0;
  for (size_t i = 0; fits && i < type.axes.size(); ++i) {
    fits = type.axes[i] == kUnitAxis || type.axes[i] == axes[i + shift];
  }
  if (fits) return builder_.broadcast_to(materialise(acc.value), axes);
  fail(acc.node->range, "the accumulator does not have the axes of the product, which is " + wanted + ", got " +
                            type_text(kernel_, type));
  return std::nullopt;
}

}  // namespace kaon::compiler
