// Literals take types, operands come to one element type and one list of axes, and messages say why they cannot.
#include <algorithm>
#include <limits>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

bool is_storage_only(DType dtype) { return dtype == DType::kF8E4M3 || dtype == DType::kF8E5M2; }

bool fits(int64_t value, DType dtype) {
  if (dtype == DType::kI64) return true;
  const int digits = dtype_row(dtype).significand_bits;
  const int64_t limit = int64_t{1} << digits;
  return dtype_is_signed(dtype) ? value >= -limit && value < limit : value >= 0 && value < limit;
}

std::string limits_text(DType dtype) {
  const int64_t limit = int64_t{1} << dtype_row(dtype).significand_bits;
  return std::to_string(dtype_is_signed(dtype) ? -limit : 0) + " to " + std::to_string(limit - 1);
}

}  // namespace

bool KernelBuilder::require_number(const Operand& operand) {
  const Value& value = operand.value;
  if (value.kind == Value::Kind::kTensor) {
    const size_t rank = facts_.extents[static_cast<size_t>(value.tensor)].size();
    std::string whole = ":";
    for (size_t i = 1; i < rank; ++i) whole += ", :";
    fail(operand.node->range, "`" + value.name + "` is a tensor; load values from it with a subscript, as in " +
                                  value.name + "[" + whole + "]");
  } else if (value.kind == Value::Kind::kTileVariable) {
    fail(operand.node->range, "`" + value.name + "` is a tile variable; its coordinates are " + value.name +
                                  ".index, its first one " + value.name + ".begin");
  } else if (value.kind == Value::Kind::kBlock) {
    fail(operand.node->range, "`" + value.name + "` is a registered block; it stands in tile(..., block=" + value.name +
                                  ") and as an axis, as in zeros(f32, " + value.name + ")");
  } else if (value.is_tuple()) {
    fail(operand.node->range, "this is " + describe(value) + " and stands for no single one; take it apart, as in " +
                                  "`let a, b = ...`, or pick one with [0]");
  } else if (value.kind == Value::Kind::kFunction) {
    fail(operand.node->range, "`" + value.name + "` is a function; call it, as in " + value.name + "(...)");
  }
  return value.is_number();
}

const Type& KernelBuilder::type_of(const Value& value) {
  static const Type kHostInt{DType::kI64, {}};
  static const Type kFloat{DType::kF32, {}};
  if (value.kind == Value::Kind::kFloatLiteral) return kFloat;
  return value.id == kNoValue ? kHostInt : kernel_.type(value.id);
}

ValueId KernelBuilder::materialise(const Value& value) {
  if (value.id != kNoValue) return value.id;
  if (value.kind == Value::Kind::kFloatLiteral) return builder_.float_const(DType::kF32, value.float_value);
  if (value.kind == Value::Kind::kIntLiteral) return builder_.int_const(DType::kI64, value.int_value);
  if (std::optional<int64_t> constant = value.host->constant()) return builder_.int_const(DType::kI64, *constant);
  const std::string text = value.host->to_string();
  for (const auto& region : host_values_) {
    auto found = region.find(text);
    if (found != region.end()) return found->second;
  }
  const ValueId id = builder_.expr(value.host->to_expr());
  host_values_.back()[text] = id;
  return id;
}

ValueId KernelBuilder::literal_as(const Value& literal, DType dtype, SourceRange range,
                                  const std::vector<AxisId>& axes) {
  const bool is_float = literal.kind == Value::Kind::kFloatLiteral;
  if (dtype_is_float(dtype)) {
    const double number = is_float ? literal.float_value : static_cast<double>(literal.int_value);
    return builder_.float_const(dtype, number, axes);
  }
  if (!fits(literal.int_value, dtype)) {
    fail(range, "the literal " + std::to_string(literal.int_value) + " does not fit " + dtype_name(dtype) +
                    ", which holds " + limits_text(dtype));
  }
  return builder_.int_const(dtype, literal.int_value, axes);
}

std::optional<ValueId> KernelBuilder::as_index(const Operand& operand) {
  if (!require_number(operand)) return std::nullopt;
  if (operand.value.kind == Value::Kind::kFloatLiteral || !dtype_is_int(type_of(operand.value).dtype)) {
    fail(operand.node->range, "an index is an integer, got " + describe(operand.value));
    return std::nullopt;
  }
  return builder_.cast(materialise(operand.value), DType::kI64);
}

std::string KernelBuilder::describe(const Value& value) {
  switch (value.kind) {
    case Value::Kind::kError: return "an error";
    case Value::Kind::kIntLiteral: return "the literal " + std::to_string(value.int_value);
    case Value::Kind::kFloatLiteral: return "a float literal";
    case Value::Kind::kTyped: return type_text(kernel_, type_of(value));
    case Value::Kind::kTensor: return "tensor " + value.name;
    case Value::Kind::kTileVariable: return "tile variable " + value.name;
    case Value::Kind::kBlock: return "block " + value.name;
    case Value::Kind::kTuple: return "a tuple of " + std::to_string(value.items.size()) + " values";
    case Value::Kind::kFunction: return "function " + value.name;
  }
  return "";
}

std::string KernelBuilder::describe_axis(AxisId axis) {
  const Axis& info = kernel_.axis(axis);
  const std::optional<HostInt>& end = ranges_[static_cast<size_t>(axis)].end;
  const std::string extent = end ? end->to_string() : "a run-time bound";
  if (info.lengths != kNoValue) return info.name + " (jagged, up to a length for each lane)";
  if (is_block(info)) return info.name + " (a registered block)";
  if (info.kind == AxisKind::kTile) return info.name + " (tiles up to " + extent + ")";
  return info.name + " (all " + extent + ")";
}

bool KernelBuilder::reject_storage_type(const std::string& text, const Operand& operand) {
  if (!operand.value.is_typed()) return false;
  const DType dtype = type_of(operand.value).dtype;
  if (!is_storage_only(dtype)) return false;
  fail(operand.node->range,
       std::string(dtype_name(dtype)) + " is for storage only and has no `" + text + "`; compute in f32 with f32(...)");
  return true;
}

bool KernelBuilder::common_dtype(const std::string& text, SourceRange range, const std::vector<Operand>& operands,
                                 DType* out) {
  const Operand* first = nullptr;
  bool float_literal = false;
  for (const Operand& operand : operands) {
    if (reject_storage_type(text, operand)) return false;
    if (operand.value.kind == Value::Kind::kFloatLiteral) float_literal = true;
    if (!operand.value.is_typed()) continue;
    if (first == nullptr) {
      first = &operand;
      continue;
    }
    const DType a = type_of(first->value).dtype;
    const DType b = type_of(operand.value).dtype;
    if (a == b) continue;
    const bool same_class = dtype_is_float(a) == dtype_is_float(b);
    const DType mend = same_class ? (dtype_bytes(a) >= dtype_bytes(b) ? a : b) : (dtype_is_float(a) ? a : b);
    const DType wide = same_class && dtype_bytes(a) == dtype_bytes(b) && dtype_is_float(a) ? DType::kF32 : mend;
    fail(range, std::string(dtype_name(a)) + " and " + dtype_name(b) + " do not mix in `" + text + "`; cast, as in " +
                    dtype_name(wide) + "(...)");
    return false;
  }
  *out = first != nullptr ? type_of(first->value).dtype : float_literal ? DType::kF32 : DType::kI64;
  if (!float_literal || dtype_is_float(*out)) {
    const bool int_meets_bool =
        *out == DType::kBool &&
        std::any_of(operands.begin(), operands.end(), [](const Operand& o) { return o.value.is_literal(); });
    if (!int_meets_bool) return true;
    fail(range, "a number and a bool do not mix in `" + text + "`; write true or false");
    return false;
  }
  fail(range,
       std::string(dtype_name(*out)) + " and a float literal do not mix in `" + text + "`; cast, as in f32(...)");
  return false;
}

// "[:, None]": the view that gives the operand of lower rank the axes of the other, where one would; else empty.
std::string KernelBuilder::mend_for_axes(const std::vector<AxisId>& a, const std::vector<AxisId>& b) {
  const std::vector<AxisId>& low = a.size() < b.size() ? a : b;
  const std::vector<AxisId>& high = a.size() < b.size() ? b : a;
  if (low.size() == high.size() || low.empty()) return "";
  std::string view;
  size_t next = 0;
  for (AxisId axis : high) {
    const bool matches = next < low.size() && low[next] == axis;
    if (matches) ++next;
    view += std::string(view.empty() ? "" : ", ") + (matches ? ":" : "None");
  }
  return next == low.size() ? "[" + view + "]" : "";
}

// What to write where two axes meet that no view of one operand would bring apart.
std::string KernelBuilder::mend_for_meeting(AxisId a, AxisId b) {
  const auto is_tile = [&](AxisId axis) { return kernel_.axis(axis).kind == AxisKind::kTile; };
  const std::optional<HostInt>& end = ranges_[static_cast<size_t>(a)].end;
  const std::optional<HostInt>& other = ranges_[static_cast<size_t>(b)].end;
  if (!end || !other || !(*end == *other))
    return "; where an operand lacks an axis, give it one of extent 1 by `None`, as in [:, None]";
  if (is_tile(a) != is_tile(b)) {
    const std::string& name = kernel_.axis(is_tile(a) ? a : b).name;
    return "; take both a tile at a time, by " + name + ", or both whole, by `:`";
  }
  return "; two axes of one extent stay two: load both by one of them, or write [:, None] and [None, :] for every pair";
}

bool KernelBuilder::common_axes(const std::string& text, SourceRange range, const std::vector<Operand>& operands,
                                DType dtype, std::vector<ValueId>* values) {
  std::vector<AxisId> axes;
  size_t widest = 0;  // operand that gave `axes` its rank
  for (size_t i = 0; i < values->size(); ++i) {
    if ((*values)[i] == kNoValue) continue;
    const std::vector<AxisId> other = kernel_.type((*values)[i]).axes;
    const std::vector<AxisId> before = axes;
    if (other.size() > axes.size()) axes.insert(axes.begin(), other.size() - axes.size(), kUnitAxis);
    const size_t shift = axes.size() - other.size();
    for (size_t k = 0; k < other.size(); ++k) {
      AxisId& here = axes[k + shift];
      if (here == other[k] || other[k] == kUnitAxis) continue;
      if (correspond(kernel_, here, other[k])) {  // the tile: its lanes are some of the block's
        if (is_block(kernel_.axis(here))) here = other[k];
        continue;
      }
      if (here != kUnitAxis) {
        const std::string view = mend_for_axes(before, other);
        const char* which = before.size() < other.size() ? "first" : "second";
        fail(range,
             "shapes do not match in `" + text + "`: " + axes_text(kernel_, before) + " and " +
                 axes_text(kernel_, other) + "; axis " + describe_axis(here) + " meets axis " +
                 describe_axis(other[k]) +
                 (view.empty() ? mend_for_meeting(here, other[k])
                               : "; write " + view + " after the " + which + " to place its axes"),
             {{operands[widest].node->range, "this is " + type_text(kernel_, kernel_.type((*values)[widest]))},
              {operands[i].node->range, "this is " + type_text(kernel_, kernel_.type((*values)[i]))}});
        return false;
      }
      here = other[k];
    }
    if (other.size() >= before.size()) widest = i;
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    const bool is_twice =
        axes[i] != kUnitAxis && std::any_of(axes.begin() + static_cast<ptrdiff_t>(i) + 1, axes.end(), [&](AxisId axis) {
          return block_of(kernel_, axis) == block_of(kernel_, axes[i]);
        });
    if (!is_twice) continue;
    fail(range, "the result of `" + text + "` would have axis " + kernel_.axis(axes[i]).name + " twice, " +
                    axes_text(kernel_, axes) + "; a value has an axis once");
    return false;
  }
  const int errors = diagnostics_.num_errors();
  for (size_t i = 0; i < values->size(); ++i) {
    ValueId& value = (*values)[i];
    value =
        value == kNoValue ? literal_as(operands[i].value, dtype, operands[i].node->range, axes) : spread(value, axes);
  }
  return diagnostics_.num_errors() == errors;
}

/// `value` broadcast to `axes`; along a registered block it becomes one along the tile that stands there.
ValueId KernelBuilder::spread(ValueId value, const std::vector<AxisId>& axes) {
  const std::vector<AxisId> own = kernel_.type(value).axes;
  for (size_t i = 0; i < own.size(); ++i) {
    const AxisId wanted = axes[axes.size() - own.size() + i];
    if (own[i] == wanted || own[i] == kUnitAxis || !is_block(kernel_.axis(own[i]))) continue;
    Op& op = builder_.insert(OpKind::kRetile, {value});
    op.set_attr("dim", static_cast<int64_t>(i));
    Type type = kernel_.type(value);
    type.axes[i] = wanted;
    value = builder_.add_result(op, type);
  }
  return builder_.broadcast_to(value, axes);
}

/// Whether a value with axes `from` broadcasts to `to`, of which blocks may stand for tiles that run by them, or the
/// other way round.
bool KernelBuilder::spreads_to(const std::vector<AxisId>& from, const std::vector<AxisId>& to) const {
  if (from.size() > to.size()) return false;
  for (size_t i = 0; i < from.size(); ++i) {
    if (from[i] != kUnitAxis && !correspond(kernel_, from[i], to[to.size() - from.size() + i])) return false;
  }
  return true;
}

bool KernelBuilder::unify(const std::string& text, SourceRange range, const std::vector<Operand>& operands,
                          std::vector<ValueId>* out) {
  for (const Operand& operand : operands) {
    if (operand.value.is_error() || !require_number(operand)) return false;
  }
  DType dtype;
  if (!common_dtype(text, range, operands, &dtype)) return false;
  for (const Operand& operand : operands) {
    out->push_back(operand.value.is_literal() ? kNoValue : materialise(operand.value));
  }
  return common_axes(text, range, operands, dtype, out);
}

}  // namespace kaon::compiler
