// Regrouping of dims, and typing and addressing of reshape, slice, concat and pick.
#include "compiler/ir/view_rules.h"

#include <string>

#include "compiler/ir/block_axis.h"
#include "compiler/ir/bug.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

std::string text_of(const Kernel& kernel, const Op& op, size_t operand) {
  return type_text(kernel, kernel.type(op.operands[operand]));
}

/// Axes that a reshape regroups; the others stay.
bool is_regrouped(const Kernel& kernel, AxisId axis) { return constant_extent(kernel, axis) > 0; }

/// Result axes are those of `like`, but for `dim`, which `declared` gives.
Result<Type> with_declared_dim(const Kernel& kernel, const Type& like, const Type& declared, int64_t dim) {
  if (declared.rank() != like.rank()) {
    return bug("ranks differ, " + type_text(kernel, like) + " and " + type_text(kernel, declared));
  }
  Type type = like;
  type.axes[static_cast<size_t>(dim)] = declared.axes[static_cast<size_t>(dim)];
  return type;
}

Result<int64_t> dim_of(const Op& op, const Type& type, const std::string& text) {
  const Attr* attr = op.find_attr("dim");
  const int64_t* dim = attr ? std::get_if<int64_t>(attr) : nullptr;
  if (dim && *dim >= 0 && *dim < type.rank()) return *dim;
  return bug("attribute dim: expected 0 to " + std::to_string(type.rank() - 1) + " for " + text);
}

std::vector<int64_t> row_major(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

std::vector<int64_t> array_extents(const Kernel& kernel, const Type& type) {
  std::vector<int64_t> sizes;
  for (const AxisId axis : type.axes) sizes.push_back(array_extent(kernel, axis));
  return sizes;
}

int64_t product(const std::vector<int64_t>& sizes) {
  int64_t out = 1;
  for (const int64_t size : sizes) out *= size;
  return out;
}

}  // namespace

int64_t constant_extent(const Kernel& kernel, AxisId id) {
  if (id == kUnitAxis) return 1;
  const Axis& axis = kernel.axis(id);
  int64_t extent = 0;
  if (axis.kind == AxisKind::kTile || is_block(axis) || axis.extent_value != kNoValue) return 0;
  return axis.extent.is_constant(&extent) && extent > 0 ? extent : 0;
}

int64_t array_extent(const Kernel& kernel, AxisId axis) {
  const int64_t extent = constant_extent(kernel, axis);
  return extent > 0 ? extent : kernel.axis(axis).block;
}

std::vector<RegroupedDims> regrouped_dims(const Kernel& kernel, const std::vector<AxisId>& from,
                                          const std::vector<AxisId>& to) {
  std::vector<RegroupedDims> groups;
  size_t i = 0, j = 0;
  const auto is_one = [&](const std::vector<AxisId>& axes, size_t at) {
    return at < axes.size() && constant_extent(kernel, axes[at]) == 1;
  };
  while (i < from.size() || j < to.size()) {
    const size_t from_begin = i, to_begin = j;
    // Axes of extent 1 go with the group before them, on either side.
    const bool is_first = groups.empty() && (is_one(from, i) || is_one(to, j));
    const bool stays = !is_first && i < from.size() && !is_regrouped(kernel, from[i]);
    if (stays) {
      if (j == to.size() || to[j] != from[i]) return {};
      ++i, ++j;
    } else if (!is_first) {
      int64_t here = 1, there = 1;
      do {
        const bool take_from = i < from.size() && is_regrouped(kernel, from[i]) && (here <= there || j == to.size());
        if (take_from) {
          here *= constant_extent(kernel, from[i++]);
        } else if (j < to.size() && is_regrouped(kernel, to[j])) {
          there *= constant_extent(kernel, to[j++]);
        } else {
          return {};
        }
      } while (here != there);
    }
    while (is_one(from, i)) ++i;
    while (is_one(to, j)) ++j;
    groups.push_back(
        {static_cast<int>(from_begin), static_cast<int>(i), static_cast<int>(to_begin), static_cast<int>(j)});
  }
  return groups;
}

Result<Type> reshape_type(const Kernel& kernel, const Op& op, const Type& declared) {
  const Type& from = kernel.type(op.operands[0]);
  const Type to{from.dtype, declared.axes};
  if (from.axes.empty() != to.axes.empty() ||
      (!to.axes.empty() && regrouped_dims(kernel, from.axes, to.axes).empty())) {
    return bug("extents differ, " + type_text(kernel, from) + " and " + type_text(kernel, to));
  }
  return to;
}

Result<Type> slice_type(const Kernel& kernel, const Op& op, const Type& declared) {
  if (op.operands.empty() || op.operands.size() > 2) return bug("expected a value and at most a begin");
  const Type& from = kernel.type(op.operands[0]);
  KAON_ASSIGN_OR_RETURN(const int64_t dim, dim_of(op, from, text_of(kernel, op, 0)));
  if (op.operands.size() == 2) {
    if (op.find_attr("begin")) return bug("the begin is given twice, as attribute and operand");
    if (kernel.type(op.operands[1]) != Type{DType::kI64, {}}) {
      return bug("begin: expected i64, got " + text_of(kernel, op, 1));
    }
  }
  const int64_t begin = op.int_attr("begin");
  KAON_ASSIGN_OR_RETURN(Type type, with_declared_dim(kernel, from, declared, dim));
  const int64_t whole = constant_extent(kernel, from.axes[static_cast<size_t>(dim)]);
  const int64_t part = constant_extent(kernel, type.axes[static_cast<size_t>(dim)]);
  if (begin < 0 || (whole > 0 && begin + part > whole)) {
    return bug("part from " + std::to_string(begin) + " of extent " + std::to_string(part) + " is no part of " +
               text_of(kernel, op, 0));
  }
  return type;
}

Result<Type> concat_type(const Kernel& kernel, const Op& op, const Type& declared) {
  if (op.operands.empty()) return bug("expected at least one operand");
  const Type& first = kernel.type(op.operands[0]);
  KAON_ASSIGN_OR_RETURN(const int64_t dim, dim_of(op, first, text_of(kernel, op, 0)));
  KAON_ASSIGN_OR_RETURN(Type type, with_declared_dim(kernel, first, declared, dim));
  int64_t sum = 0;
  bool is_known = true;
  for (size_t i = 0; i < op.operands.size(); ++i) {
    const Type& part = kernel.type(op.operands[i]);
    KAON_ASSIGN_OR_RETURN(const Type expected, with_declared_dim(kernel, type, part, dim));
    if (part != expected) {
      return bug("operand " + std::to_string(i) + ": expected " + type_text(kernel, expected) + ", got " +
                 type_text(kernel, part));
    }
    const int64_t extent = constant_extent(kernel, part.axes[static_cast<size_t>(dim)]);
    is_known = is_known && extent > 0;
    sum += extent;
  }
  const int64_t whole = constant_extent(kernel, type.axes[static_cast<size_t>(dim)]);
  if (is_known && whole != sum) {
    return bug("parts of extent " + std::to_string(sum) + " in all cannot be " + type_text(kernel, type));
  }
  return type;
}

Result<Type> pick_type(const Kernel& kernel, const Op& op, const Type& declared) {
  if (op.operands.empty()) return bug("expected at least one operand");
  for (size_t i = 0; i < op.operands.size(); ++i) {
    if (kernel.type(op.operands[i]).dtype != declared.dtype) {
      return bug("operand " + std::to_string(i) + ": expected " + dtype_name(declared.dtype) + ", got " +
                 text_of(kernel, op, i));
    }
  }
  const std::vector<int64_t>& registers = op.ints_attr("registers");
  for (size_t i = 0; i + 1 < registers.size(); i += 2) {
    const int64_t operand = registers[i];
    const bool known = operand >= 0 && operand < static_cast<int64_t>(op.operands.size());
    if (!known || registers[i + 1] < 0 ||
        registers[i + 1] >= kernel.layout(op.operands[static_cast<size_t>(operand)]).num_registers()) {
      return bug("attribute registers: no register " + std::to_string(registers[i + 1]) + " of operand " +
                 std::to_string(operand));
    }
  }
  return declared;
}

Result<ViewPlaces> view_places(const Kernel& kernel, const Op& op) {
  ViewPlaces out;
  const Type& from = kernel.type(op.operands[0]);
  const Type& to = kernel.type(op.result());
  const std::vector<int64_t> from_sizes = array_extents(kernel, from);
  const std::vector<int64_t> to_sizes = array_extents(kernel, to);
  const auto dim = static_cast<size_t>(op.int_attr("dim"));
  if (op.kind == OpKind::kReshape) {
    out.operands.push_back({row_major(from_sizes), 0});
    out.result = {row_major(to_sizes), 0};
    out.elements = product(from_sizes);
  } else if (op.kind == OpKind::kSlice) {
    out.operands.push_back({row_major(from_sizes), 0});
    const int64_t stride = out.operands[0].strides[dim];
    out.result = {out.operands[0].strides, op.int_attr("begin") * stride};
    out.elements = product(from_sizes);
    if (op.operands.size() == 2) out.begin_stride = stride;
  } else {
    out.result = {row_major(to_sizes), 0};
    out.elements = product(to_sizes);
    int64_t begin = 0;
    for (const ValueId operand : op.operands) {
      const AxisId axis = kernel.type(operand).axes[dim];
      out.operands.push_back({out.result.strides, begin * out.result.strides[dim]});
      const int64_t extent = constant_extent(kernel, axis);
      if (extent == 0 && operand != op.operands.back()) {
        return Status(Code::kUnsupported, "concat along " + kernel.axis(axis).name +
                                              ", whose extent each call brings along, works only where the result is "
                                              "stored, reduced or computed with; store the parts one by one");
      }
      begin += extent;
    }
  }
  return out;
}

}  // namespace kaon::compiler
