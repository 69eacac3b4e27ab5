// v[:valid, :], x[m, a:b]: parts of values, and of tensors by bounds that only the device knows.
#include <algorithm>
#include <map>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/type_rules.h"
#include "compiler/ir/view_rules.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;

/// A sum of products of one scalar and a number, by the scalar's text; "" is the constant.
using Terms = std::map<std::string, int64_t>;

void add_terms(Terms* sum, const Terms& terms, int64_t factor) {
  for (const auto& [text, number] : terms) {
    int64_t& total = (*sum)[text];
    total = static_cast<int64_t>(static_cast<uint64_t>(total) +
                                 static_cast<uint64_t>(number) * static_cast<uint64_t>(factor));
    if (total == 0) sum->erase(text);
  }
}

std::optional<int64_t> constant_of(const Terms& terms) {
  if (terms.empty()) return 0;
  return terms.size() == 1 && terms.begin()->first.empty() ? std::optional<int64_t>(terms.begin()->second)
                                                           : std::nullopt;
}

std::string terms_text(const Terms& terms) {
  std::string text;
  for (const auto& [scalar, number] : terms)
    text += (text.empty() ? "" : " + ") + std::to_string(number) + "*" + scalar;
  return text.empty() ? "0" : text;
}

/// The normal form of a scalar of the kernel, as far as sums, differences and products with a number go.
class ScalarForm {
 public:
  explicit ScalarForm(const Kernel& kernel) : kernel_(kernel), definitions_(defining_ops(kernel)) {}

  Terms terms(ValueId value) const {
    const Op* op =
        static_cast<size_t>(value) < definitions_.size() ? definitions_[static_cast<size_t>(value)] : nullptr;
    const Terms itself = {{"%" + std::to_string(value), 1}};
    if (op == nullptr || !kernel_.type(value).is_scalar() || kernel_.type(value).dtype != DType::kI64) return itself;
    if (op->kind == OpKind::kConst) return number(op->int_attr("value"));
    if (op->kind == OpKind::kAxisInfo) return {{op->str_attr("what") + std::to_string(op->int_attr("axis")), 1}};
    if (op->kind == OpKind::kExpr) return {{host_text(std::get<Expr>(*op->find_attr("expr"))), 1}};
    if (op->kind != OpKind::kBinary) return itself;
    const std::string fn = op->str_attr("fn");
    Terms a = terms(op->operands[0]);
    const Terms b = terms(op->operands[1]);
    if (fn == "add" || fn == "sub") {
      add_terms(&a, b, fn == "add" ? 1 : -1);
      return a;
    }
    const std::optional<int64_t> left = constant_of(a), right = constant_of(b);
    if (fn != "mul" || (!left && !right)) {
      return {{fn + "(" + terms_text(a) + ", " + terms_text(b) + ")", 1}};
    }
    Terms product;
    add_terms(&product, left ? b : a, left ? *left : *right);
    return product;
  }

  /// A parameter of the kernel by its value, any other expression by its steps.
  std::string host_text(const Expr& expr) const {
    std::string text = "host";
    for (const ExprStep& step : expr.steps()) {
      const int64_t scalar = step.operand - kernel_.signature.scalar_slot(0);
      const bool is_scalar =
          step.op == ExprOp::kSlot && scalar >= 0 && scalar < static_cast<int64_t>(kernel_.scalar_params.size());
      if (is_scalar && expr.steps().size() == 1)
        return "%" + std::to_string(kernel_.scalar_params[static_cast<size_t>(scalar)]);
      text += " " + std::to_string(static_cast<int>(step.op)) + ":" + std::to_string(step.operand);
    }
    return text;
  }

  static Terms number(int64_t value) { return value == 0 ? Terms{} : Terms{{"", value}}; }

 private:
  const Kernel& kernel_;
  std::vector<const Op*> definitions_;
};

}  // namespace

std::string KernelBuilder::scalar_text(ValueId value) { return terms_text(ScalarForm(kernel_).terms(value)); }

KernelBuilder::DeviceLength KernelBuilder::length_of(const SliceBounds& bounds) {
  const ValueId begin = bound_value(bounds.begin, bounds.begin_value);
  const ValueId end = bound_value(bounds.end, bounds.end_value);
  const ScalarForm form(kernel_);
  Terms terms = form.terms(end);
  add_terms(&terms, form.terms(begin), -1);
  return {terms_text(terms), constant_of(terms)};
}

ValueId KernelBuilder::bound_value(const std::optional<HostInt>& host, ValueId value) {
  return value != kNoValue ? value : materialise(Value::host_int(*host));
}

ValueId KernelBuilder::clamped(ValueId value, ValueId low, ValueId high) {
  return builder_.binary(BinaryFn::kMax, builder_.binary(BinaryFn::kMin, value, high), low);
}

/// Coordinates that exist of an axis: of a tile, those of this tile.
ValueId KernelBuilder::axis_size(AxisId id) {
  const Axis axis = kernel_.axis(id);
  if (axis.kind == AxisKind::kTile) {
    return builder_.binary(BinaryFn::kSub, builder_.axis_info(id, "end"), builder_.axis_info(id, "begin"));
  }
  if (axis.extent_value != kNoValue) return axis.extent_value;
  return materialise(Value::host_int(*ranges_[static_cast<size_t>(id)].end));
}

/// The axis of `extent` coordinates that `key` has made where it is visible, or a new one.
AxisId KernelBuilder::device_axis(const std::string& key, const std::string& name, const std::string& length,
                                  ValueId extent) {
  for (const auto& region : host_values_) {
    const auto found = region.find("length of " + key);
    if (found == region.end()) continue;
    for (size_t i = 0; i < kernel_.axes.size(); ++i) {
      if (kernel_.axes[i].extent_value == found->second && kernel_.axes[i].kind == AxisKind::kFull)
        return static_cast<AxisId>(i);
    }
  }
  host_values_.back()["length of " + key] = extent;
  Axis axis;
  axis.name = unique_axis_name(name);
  axis.kind = AxisKind::kFull;
  axis.extent_value = extent;
  ranges_.push_back({HostInt(0), std::nullopt, length});
  return kernel_.new_axis(axis);
}

/// Reads the bounds of a slice of an axis, whose extent is given if the host knows it.
bool KernelBuilder::slice_bounds(const ast::Expression& item, const std::optional<HostInt>& extent, SliceBounds* out) {
  out->begin = HostInt(0);
  out->end = extent;
  for (size_t side = 0; side < 2; ++side) {
    const ast::ExpressionPtr& node = item.children[side];
    if (node == nullptr) continue;
    const Value value = expression(*node);
    if (value.is_error() || !require_number({value, node.get()})) return false;
    const std::optional<HostInt> host =
        value.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(value.int_value) : value.host;
    if (!host) {
      if (!type_of(value).is_scalar() || !dtype_is_int(type_of(value).dtype) || value.is_literal()) {
        fail(node->range, "a slice's bounds are integers, got " + describe(value));
        return false;
      }
      (side == 0 ? out->begin_value : out->end_value) = builder_.cast(materialise(value), DType::kI64);
      (side == 0 ? out->begin : out->end) = std::nullopt;
      continue;
    }
    if (host->constant().value_or(0) < 0) {
      const std::optional<HostInt> sum = extent ? HostInt::binary(ExprOp::kAdd, *extent, *host) : std::nullopt;
      fail(node->range, "bound " + host->to_string() + " is negative; count from the end" +
                            (sum ? " with " + sum->to_string() : ", as in m.end - m.begin - 1"));
      return false;
    }
    (side == 0 ? out->begin : out->end) = *host;
  }
  return true;
}

/// x[m, a:b] with a bound from the device. Lanes of a length that only the device knows exist where the tensor has
/// them.
bool KernelBuilder::device_slice(const ast::Expression& item, const Value& tensor, size_t dim, bool is_store,
                                 const SliceBounds& bounds, std::vector<Subscript>* out) {
  builder_.set_range(item.range);
  const HostInt& extent = facts_.extents[static_cast<size_t>(tensor.tensor)][dim];
  const DeviceLength length = length_of(bounds);
  const ValueId begin = bound_value(bounds.begin, bounds.begin_value);
  const bool at_start = bounds.begin && *bounds.begin == HostInt(0);
  if (length.constant && *length.constant < 0) {
    fail(item.range, "the slice has length " + std::to_string(*length.constant) + "; it is written x[begin:end]");
    return false;
  }
  if (length.constant) {
    const HostInt count(*length.constant);
    out->push_back(Subscript::along(whole_axis(count, occurrences(*out, count), AxisKind::kFull), begin));
    return true;
  }
  const ValueId zero = materialise(Value::host_int(HostInt(0)));
  const ValueId end = bound_value(bounds.end, bounds.end_value);
  const ValueId first = at_start ? begin : builder_.binary(BinaryFn::kMax, begin, zero);
  ValueId last = end;
  if (!is_store) last = builder_.binary(BinaryFn::kMin, end, materialise(Value::host_int(extent)));
  const ValueId count =
      builder_.binary(BinaryFn::kMax, at_start ? last : builder_.binary(BinaryFn::kSub, last, first), zero);
  const std::string& source = kernel_.values[static_cast<size_t>(end)].name;
  const std::string key = scalar_text(begin) + " to " + scalar_text(end) + " of " + extent.to_string();
  const AxisId axis = device_axis(key, source.empty() ? "part" : source, length.text, count);
  out->push_back(Subscript::along(axis, at_start ? kNoValue : first));
  return true;
}

/// The value that a subscript's item leaves of `value` along `dim`, and whether the axis is still there.
std::optional<std::pair<ValueId, bool>> KernelBuilder::cut_item(const ast::Expression& item, ValueId value, int dim) {
  const AxisId axis = kernel_.type(value).axes[static_cast<size_t>(dim)];
  const bool is_tile = axis != kUnitAxis && kernel_.axis(axis).kind == AxisKind::kTile;
  if (is_tile && kernel_.axis(axis).lengths != kNoValue) {
    fail(item.range, "axis " + kernel_.axis(axis).name +
                         " is jagged, of a length for each row, and cannot be cut; "
                         "`where` on its coordinates leaves lanes out");
    return std::nullopt;
  }
  if (axis != kUnitAxis && is_block(kernel_.axis(axis))) {
    fail(item.range, "axis " + kernel_.axis(axis).name +
                         " is a registered block, whose size is a knob, and cannot be "
                         "cut; cut along the tile variable that runs by it");
    return std::nullopt;
  }
  std::optional<HostInt> extent = HostInt(1);
  if (axis != kUnitAxis) extent = is_tile ? std::nullopt : ranges_[static_cast<size_t>(axis)].end;
  if (item.kind != ExpressionKind::kSlice) {
    const Value index = expression(item);
    if (index.is_error()) return std::nullopt;
    const std::optional<ValueId> row = cut_at(item, index, value, dim);
    return row ? std::optional<std::pair<ValueId, bool>>({*row, false}) : std::nullopt;
  }
  SliceBounds bounds;
  if (!slice_bounds(item, extent, &bounds)) return std::nullopt;
  builder_.set_range(item.range);
  if (!bounds.end && bounds.end_value == kNoValue) bounds.end_value = axis_size(axis);
  const bool by_host = extent && !bounds.is_on_device();
  const std::optional<ValueId> part =
      by_host ? cut_by_host(item, value, dim, bounds, *extent) : cut_by_device(item, value, dim, bounds);
  return part ? std::optional<std::pair<ValueId, bool>>({*part, true}) : std::nullopt;
}

std::optional<ValueId> KernelBuilder::cut_by_host(const ast::Expression& item, ValueId value, int dim,
                                                  const SliceBounds& bounds, const HostInt& extent) {
  const std::optional<HostInt> length = HostInt::binary(ExprOp::kSub, *bounds.end, *bounds.begin);
  const std::optional<HostInt> room = HostInt::binary(ExprOp::kSub, extent, *bounds.end);
  const std::string text = bounds.begin->to_string() + ":" + bounds.end->to_string();
  if (!length || !is_natural(*length) || !is_natural(*bounds.begin) || length->constant() == 0) {
    fail(item.range, "the part " + text + " could be empty or of negative length; if it cannot, say so with `require " +
                         bounds.begin->to_string() + " < " + bounds.end->to_string() + "`");
    return std::nullopt;
  }
  if (!room || !is_natural(*room)) {
    fail(item.range, "the part " + text + " may end beyond the axis, which has extent " + extent.to_string() +
                         "; if it is enough, say so with `require " + bounds.end->to_string() +
                         " <= " + extent.to_string() + "`");
    return std::nullopt;
  }
  if (*length == extent) return value;
  std::vector<AxisId> others = kernel_.type(value).axes;
  others.erase(others.begin() + dim);
  return cut(value, dim, *bounds.begin, part_axis(*length, others));
}

/// A part by bounds of the device, or of a tile: bounds are moved into what exists, as in Python.
std::optional<ValueId> KernelBuilder::cut_by_device(const ast::Expression& item, ValueId value, int dim,
                                                    const SliceBounds& bounds) {
  Type type = kernel_.type(value);
  AxisId& axis = type.axes[static_cast<size_t>(dim)];
  if (axis == kUnitAxis) {
    fail(item.range, "an axis of extent 1 is cut by bounds that the host knows only");
    return std::nullopt;
  }
  const std::string& source =
      bounds.end_value == kNoValue ? std::string() : kernel_.values[static_cast<size_t>(bounds.end_value)].name;
  const DeviceLength length = length_of(bounds);
  const int64_t extent = constant_extent(kernel_, axis);
  const ValueId size = axis_size(axis);
  const ValueId zero = materialise(Value::host_int(HostInt(0)));
  const bool at_start = bounds.begin && *bounds.begin == HostInt(0);
  ValueId begin = zero;
  AxisId part = kUnitAxis;
  if (length.constant && extent > 0 && *length.constant > 0) {
    if (*length.constant > extent) {
      fail(item.range,
           "a part of " + std::to_string(*length.constant) + " of an axis of extent " + std::to_string(extent));
      return std::nullopt;
    }
    begin = clamped(bound_value(bounds.begin, bounds.begin_value), zero,
                    materialise(Value::host_int(HostInt(extent - *length.constant))));
    std::vector<AxisId> others = type.axes;
    others.erase(others.begin() + dim);
    part = part_axis(HostInt(*length.constant), others);
    if (part == axis) return value;
  } else {
    if (!at_start) begin = clamped(bound_value(bounds.begin, bounds.begin_value), zero, size);
    const ValueId end = builder_.binary(BinaryFn::kMin, bound_value(bounds.end, bounds.end_value), size);
    const ValueId count =
        builder_.binary(BinaryFn::kMax, at_start ? end : builder_.binary(BinaryFn::kSub, end, begin), zero);
    const std::string key = "axis " + std::to_string(axis) + " from " +
                            scalar_text(bound_value(bounds.begin, bounds.begin_value)) + ", " + length.text;
    part = device_axis(key, source.empty() ? kernel_.axis(axis).name + "_part" : source, length.text, count);
  }
  axis = part;
  const bool has_begin = !at_start;
  std::vector<ValueId> operands = {value};
  if (has_begin) operands.push_back(begin);
  Op& op = builder_.insert(OpKind::kSlice, std::move(operands));
  op.set_attr("dim", static_cast<int64_t>(dim));
  if (!has_begin) op.set_attr("begin", int64_t{0});
  return builder_.add_result(op, type);
}

/// v[:, i]: one coordinate, without the axis.
std::optional<ValueId> KernelBuilder::cut_at(const ast::Expression& item, const Value& index, ValueId value, int dim) {
  if (!require_number({index, &item})) return std::nullopt;
  Type type = kernel_.type(value);
  const AxisId axis = type.axes[static_cast<size_t>(dim)];
  const bool is_tile = axis != kUnitAxis && kernel_.axis(axis).kind == AxisKind::kTile;
  const std::optional<HostInt> host =
      index.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(index.int_value) : index.host;
  const bool is_constant = host && host->constant();
  const int64_t position = is_constant ? host->constant().value_or(0) : 0;
  const int64_t extent = constant_extent(kernel_, axis);
  if (position < 0 || (extent > 0 && position >= extent)) {
    fail(item.range, "index " + std::to_string(position) + " is outside an axis of extent " +
                         (extent > 0          ? std::to_string(extent)
                          : axis == kUnitAxis ? "1"
                                              : describe_axis(axis)));
    return std::nullopt;
  }
  if (!type_of(index).is_scalar()) {
    fail(item.range, "an index of a value is a scalar, got " + describe(index));
    return std::nullopt;
  }
  const std::optional<ValueId> at = as_index({index, &item});
  if (!at) return std::nullopt;
  builder_.set_range(item.range);
  if (axis != kUnitAxis) {
    type.axes[static_cast<size_t>(dim)] = kUnitAxis;
    const bool is_known = is_constant && (extent > 0 || (is_tile && position == 0));
    std::vector<ValueId> operands = {value};
    if (!is_known) {
      const ValueId zero = materialise(Value::host_int(HostInt(0)));
      const ValueId one = materialise(Value::host_int(HostInt(1)));
      operands.push_back(clamped(*at, zero, builder_.binary(BinaryFn::kSub, axis_size(axis), one)));
    }
    Op& op = builder_.insert(OpKind::kSlice, std::move(operands));
    op.set_attr("dim", static_cast<int64_t>(dim));
    if (is_known) op.set_attr("begin", position);
    value = builder_.add_result(op, type);
  }
  return builder_.squeeze(value, dim);
}

/// Lets a store's dimensions run along the axes of the value that is stored, where both have one length: `:` and a
/// slice name no axis of their own.
void KernelBuilder::adopt_axes(const Type& type, Place* place) {
  std::map<AxisId, AxisId> adopted;
  for (size_t i = 0; i < std::min(type.axes.size(), place->axes.size()); ++i) {
    const AxisId own = place->axes[place->axes.size() - 1 - i];
    const AxisId other = type.axes[type.axes.size() - 1 - i];
    if (own == other || own == kUnitAxis || other == kUnitAxis || kernel_.axis(own).kind == AxisKind::kTile ||
        kernel_.axis(other).kind == AxisKind::kTile) {
      continue;
    }
    const AxisRange &a = ranges_[static_cast<size_t>(own)], &b = ranges_[static_cast<size_t>(other)];
    const bool same_extent = a.end && b.end && *a.end == *b.end;
    const bool same_length = !a.length.empty() && a.length == b.length;
    const bool is_named = std::any_of(place->index.begin(), place->index.end(), [&](const Subscript& item) {
      return item.kind == Indexer::Kind::kAxis && item.axis == own;
    });
    if (is_named && (same_extent || same_length)) adopted[own] = other;
  }
  const auto renamed = [&](AxisId axis) {
    const auto found = adopted.find(axis);
    return found == adopted.end() ? axis : found->second;
  };
  for (Subscript& item : place->index) {
    if (item.kind == Indexer::Kind::kAxis) item.axis = renamed(item.axis);
  }
  for (AxisId& axis : place->axes) axis = renamed(axis);
}

}  // namespace kaon::compiler
