// reshape, permute, transpose, expand, squeeze and unsqueeze: the same elements under other axes.
#include <algorithm>

#include "compiler/frontend/builtins.h"
#include "compiler/ir/type_rules.h"
#include "compiler/ir/view_rules.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;

constexpr int64_t kInferred = -1;
/// An axis that a reshape keeps, among extents: -2 and below.
int64_t kept(AxisId axis) { return -2 - static_cast<int64_t>(axis); }
bool is_kept(int64_t extent) { return extent <= -2; }

int64_t product(const std::vector<int64_t>& extents) {
  int64_t out = 1;
  for (const int64_t extent : extents) out *= extent;
  return out;
}

/// The items between those that stay, and those themselves: "a b | m | c" has three.
std::vector<std::vector<int64_t>> sections(const std::vector<int64_t>& extents, std::vector<int64_t>* stays) {
  std::vector<std::vector<int64_t>> out(1);
  for (const int64_t extent : extents) {
    if (!is_kept(extent)) {
      out.back().push_back(extent);
      continue;
    }
    stays->push_back(extent);
    out.emplace_back();
  }
  return out;
}

std::vector<const ast::Expression*> listed_items(const ast::Expression& node, size_t first) {
  std::vector<const ast::Expression*> items;
  for (size_t i = first; i < node.children.size(); ++i) items.push_back(node.children[i].get());
  if (items.size() == 1 && items[0]->kind == ExpressionKind::kTuple) {
    const ast::Expression& list = *items[0];
    items.clear();
    for (const ast::ExpressionPtr& child : list.children) items.push_back(child.get());
  }
  return items;
}

}  // namespace

std::optional<ValueId> KernelBuilder::viewed_value(const ast::Expression& node) {
  if (node.children.empty()) {
    fail(node.range, node.text + " takes a value: " + find_builtin(node.text)->usage);
    return std::nullopt;
  }
  const Operand a{expression(*node.children[0]), node.children[0].get()};
  if (a.value.is_error() || !require_number(a)) return std::nullopt;
  builder_.set_range(node.range);
  return materialise(a.value);
}

std::optional<int64_t> KernelBuilder::axis_position(const ast::Expression& item, int64_t dim, int rank) {
  if (dim >= -rank && dim < rank) return dim < 0 ? dim + rank : dim;
  fail(item.range, "dim " + std::to_string(dim) + " is outside the " + std::to_string(rank) +
                       (rank == 1 ? " axis" : " axes") + ", which are " + std::to_string(-rank) + " to " +
                       std::to_string(rank - 1));
  return std::nullopt;
}

/// The dim that the call names by dim= or at `place`, counted from 0, of `rank` there are.
std::optional<int64_t> KernelBuilder::dim_argument(const ast::Expression& node, size_t place, int rank,
                                                   std::optional<int64_t> fallback) {
  const ast::Expression* item = place < node.children.size() ? node.children[place].get() : nullptr;
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name != "dim") continue;
    if (item != nullptr) {
      fail(item->range, "dim is given twice, once by its place and once as dim=");
      return std::nullopt;
    }
    item = argument.value.get();
  }
  if (node.children.size() > place + 1) {
    fail(node.range,
         node.text + " got " + std::to_string(node.children.size()) + " arguments: " + find_builtin(node.text)->usage);
    return std::nullopt;
  }
  if (item == nullptr && !fallback) {
    fail(node.range, node.text + " needs a dim: " + find_builtin(node.text)->usage);
    return std::nullopt;
  }
  if (item == nullptr) return axis_position(node, *fallback, rank);
  const std::optional<int64_t> dim = constant(*item, "dim=");
  return dim ? axis_position(*item, *dim, rank) : std::nullopt;
}

/// The axis of a part or group: that of the extent which no other axis of the value is.
AxisId KernelBuilder::part_axis(const HostInt& extent, const std::vector<AxisId>& others) {
  if (extent.constant() == 1) return kUnitAxis;
  for (int occurrence = 0;; ++occurrence) {
    const AxisId axis = whole_axis(extent, occurrence, AxisKind::kStatic);
    if (std::find(others.begin(), others.end(), axis) == others.end()) return axis;
  }
}

/// A constant extent, kInferred, or kept(axis) for what names an axis of the value.
std::optional<int64_t> KernelBuilder::reshape_extent(const ast::Expression& item, const Type& from) {
  const Value value = expression(item);
  if (value.is_error()) return std::nullopt;
  const auto has = [&](AxisId axis) { return std::find(from.axes.begin(), from.axes.end(), axis) != from.axes.end(); };
  if (value.kind == Value::Kind::kTileVariable) {
    if (has(value.axis)) return kept(value.axis);
    fail(item.range, "the value is " + type_text(kernel_, from) + " and has no axis " + value.name);
    return std::nullopt;
  }
  if (!require_number({value, &item})) return std::nullopt;
  const std::optional<HostInt> extent =
      value.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(value.int_value) : value.host;
  if (extent && extent->constant()) {
    const int64_t number = *extent->constant();
    if (number == kInferred || number > 0) return number;
    fail(item.range, "an extent is positive, or -1 for what is left, got " + std::to_string(number));
    return std::nullopt;
  }
  for (const AxisId axis : from.axes) {
    if (!extent || axis == kUnitAxis || kernel_.axis(axis).kind == AxisKind::kTile) continue;
    const std::optional<HostInt>& end = ranges_[static_cast<size_t>(axis)].end;
    if (end && *end == *extent) return kept(axis);
  }
  fail(item.range, "expected a constant extent or an axis of the value, which is " + type_text(kernel_, from) +
                       ", got " + (extent ? extent->to_string() : describe(value)) +
                       "; axes whose extent each call brings along stay as they are");
  return std::nullopt;
}

std::optional<std::vector<AxisId>> KernelBuilder::reshaped_axes(const ast::Expression& node, const Type& from) {
  std::vector<int64_t> old_extents, extents;
  for (const AxisId axis : from.axes) {
    const int64_t extent = constant_extent(kernel_, axis);
    old_extents.push_back(extent > 0 ? extent : kept(axis));
  }
  for (const ast::Expression* item : listed_items(node, 1)) {
    const std::optional<int64_t> extent = reshape_extent(*item, from);
    if (!extent) return std::nullopt;
    // A constant dimension named by its tile variable or name regroups like its number.
    const int64_t number = is_kept(*extent) ? constant_extent(kernel_, static_cast<AxisId>(-2 - *extent)) : 0;
    extents.push_back(number > 0 ? number : *extent);
  }
  std::vector<int64_t> old_stays, stays;
  const auto old_sections = sections(old_extents, &old_stays);
  auto new_sections = sections(extents, &stays);
  if (stays != old_stays) {
    fail(node.range,
         "reshape keeps the axes that are no constants, in their order; the value is " + type_text(kernel_, from));
    return std::nullopt;
  }
  std::vector<int64_t> known;
  for (size_t s = 0; s < new_sections.size(); ++s) {
    const int64_t elements = product(old_sections[s]);
    std::vector<int64_t>& section = new_sections[s];
    const auto inferred = std::find(section.begin(), section.end(), kInferred);
    if (inferred != section.end()) {
      *inferred = 1;
      const int64_t rest = std::find(section.begin(), section.end(), kInferred) == section.end() ? product(section) : 0;
      if (rest == 0 || elements % rest != 0) {
        fail(node.range, rest == 0 ? "reshape can infer one extent between two axes that stay, got several -1"
                                   : "reshape: " + std::to_string(elements) + " elements do not divide into rows of " +
                                         std::to_string(rest));
        return std::nullopt;
      }
      *inferred = elements / rest;
    }
    if (product(section) != elements) {
      fail(node.range, "reshape: " + std::to_string(elements) + " elements cannot become " +
                           std::to_string(product(section)) + "; the value is " + type_text(kernel_, from));
      return std::nullopt;
    }
    known.insert(known.end(), section.begin(), section.end());
    if (s < stays.size()) known.push_back(stays[s]);
  }
  // Extents that are the same from the left or right within a section keep their axes.
  std::vector<AxisId> axes(known.size(), kUnitAxis);
  std::vector<AxisId> taken;
  size_t to = 0, at = 0;
  std::vector<bool> is_done(known.size(), false);
  for (size_t s = 0; s < new_sections.size(); ++s) {
    const std::vector<int64_t>&a = old_sections[s], &b = new_sections[s];
    size_t left = 0, right = 0;
    while (left < a.size() && left < b.size() && a[left] == b[left]) ++left;
    while (right + left < a.size() && right + left < b.size() && a[a.size() - 1 - right] == b[b.size() - 1 - right])
      ++right;
    for (size_t i = 0; i < b.size(); ++i) {
      const bool same = i < left || i >= b.size() - right;
      if (!same) continue;
      axes[to + i] = from.axes[at + (i < left ? i : i + a.size() - b.size())];
      is_done[to + i] = true;
      taken.push_back(axes[to + i]);
    }
    to += b.size(), at += a.size();
    if (s < stays.size()) {
      axes[to] = from.axes[at++];
      is_done[to++] = true;
    }
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (is_done[i]) continue;
    axes[i] = part_axis(HostInt(known[i]), taken);
    taken.push_back(axes[i]);
  }
  return axes;
}

Value KernelBuilder::reshape(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  const Type from = kernel_.type(*value);
  const std::optional<std::vector<AxisId>> axes = reshaped_axes(node, from);
  if (!axes) return Value::error();
  builder_.set_range(node.range);
  if (*axes == from.axes) return Value::typed(*value);
  if (axes->size() > static_cast<size_t>(kMaxRank)) {
    return fail(node.range,
                "a value of " + std::to_string(axes->size()) + " axes, the most is " + std::to_string(kMaxRank));
  }
  if (axes->empty()) {  // one element, of unit axes
    ValueId scalar = *value;
    while (!kernel_.type(scalar).axes.empty()) scalar = builder_.squeeze(scalar, 0);
    return Value::typed(scalar);
  }
  if (from.axes.empty()) {
    ValueId tile = *value;
    while (kernel_.type(tile).axes.size() < axes->size()) tile = builder_.expand_dims(tile, 0);
    return Value::typed(tile);
  }
  return Value::typed(builder_.add_result(builder_.insert(OpKind::kReshape, {*value}), Type{from.dtype, *axes}));
}

Value KernelBuilder::permute(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  const int rank = kernel_.type(*value).rank();
  std::vector<int64_t> perm;
  for (const ast::Expression* item : listed_items(node, 1)) {
    const std::optional<int64_t> dim = constant(*item, "a dim");
    const std::optional<int64_t> position = dim ? axis_position(*item, *dim, rank) : std::nullopt;
    if (!position) return Value::error();
    if (std::find(perm.begin(), perm.end(), *position) != perm.end())
      return fail(item->range, "dim " + std::to_string(*dim) + " is listed twice");
    perm.push_back(*position);
  }
  if (static_cast<int>(perm.size()) != rank) {
    return fail(node.range, "permute lists every axis once: the value is " + describe(Value::typed(*value)) + ", got " +
                                std::to_string(perm.size()) + " of " + std::to_string(rank));
  }
  builder_.set_range(node.range);
  return std::is_sorted(perm.begin(), perm.end()) ? Value::typed(*value)
                                                  : Value::typed(builder_.permute(*value, std::move(perm)));
}

Value KernelBuilder::transpose(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  const int rank = kernel_.type(*value).rank();
  if (node.children.size() != 3) {
    return fail(node.range, "transpose takes a value and two dims: " + std::string(find_builtin(node.text)->usage));
  }
  std::vector<int64_t> perm;
  for (int64_t dim = 0; dim < rank; ++dim) perm.push_back(dim);
  std::vector<int64_t> swapped;
  for (size_t i = 1; i < 3; ++i) {
    const std::optional<int64_t> dim = constant(*node.children[i], "a dim");
    const std::optional<int64_t> position = dim ? axis_position(*node.children[i], *dim, rank) : std::nullopt;
    if (!position) return Value::error();
    swapped.push_back(*position);
  }
  if (swapped[0] == swapped[1]) return Value::typed(*value);
  std::swap(perm[static_cast<size_t>(swapped[0])], perm[static_cast<size_t>(swapped[1])]);
  builder_.set_range(node.range);
  return Value::typed(builder_.permute(*value, std::move(perm)));
}

Value KernelBuilder::swap_axes(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  if (kernel_.type(*value).rank() != 2 || node.children.size() != 1) {
    return fail(node.range, "t swaps the axes of a value that has two, got " + describe(Value::typed(*value)) +
                                "; permute(x, ...) takes any");
  }
  return Value::typed(builder_.permute(*value, {1, 0}));
}

/// `value`, aligned at the last axes, repeated along those of `axes` that it lacks.
Value KernelBuilder::expand_to(const ast::Expression& node, ValueId value, const std::vector<AxisId>& axes) {
  const Type from = kernel_.type(value);
  bool matches = from.axes.size() <= axes.size();
  for (size_t i = 0; matches && i < from.axes.size(); ++i) {
    const AxisId axis = from.axes[from.axes.size() - 1 - i];
    matches = axis == kUnitAxis || axis == axes[axes.size() - 1 - i];
  }
  if (!matches) {
    return fail(node.range, node.text + ": " + describe(Value::typed(value)) + " cannot become " +
                                type_text(kernel_, {from.dtype, axes}) + "; only axes of extent 1 are repeated");
  }
  builder_.set_range(node.range);
  return Value::typed(builder_.broadcast_to(value, axes));
}

Value KernelBuilder::expand(const ast::Expression& node) {
  if (!only_named(node, {})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  const Type from = kernel_.type(*value);
  const std::vector<const ast::Expression*> items = listed_items(node, 1);
  const size_t shift = items.size() - std::min(items.size(), from.axes.size());
  std::vector<AxisId> axes;
  for (size_t i = 0; i < items.size(); ++i) {
    const AxisId own = i < shift || items.size() < from.axes.size() ? kUnitAxis : from.axes[i - shift];
    const Value item = expression(*items[i]);
    if (item.is_error()) return item;
    if (item.kind == Value::Kind::kTileVariable) {
      axes.push_back(item.axis);
      continue;
    }
    if (!require_number({item, items[i]})) return Value::error();
    const std::optional<HostInt> extent =
        item.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(item.int_value) : item.host;
    const bool is_own = extent && own != kUnitAxis && ranges_[static_cast<size_t>(own)].end == *extent;
    if (is_own || (extent && extent->constant() == -1)) {
      axes.push_back(own);
    } else if (extent && is_natural(*extent)) {
      axes.push_back(part_axis(*extent, axes));
    } else {
      return fail(
          items[i]->range,
          "an axis is a tile variable, a dimension, a constant, or -1 for the value's own, got " + describe(item));
    }
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != kUnitAxis && std::find(axes.begin(), axes.begin() + static_cast<ptrdiff_t>(i), axes[i]) !=
                                    axes.begin() + static_cast<ptrdiff_t>(i)) {
      return fail(node.range, "axis " + describe_axis(axes[i]) + " is listed twice; a value has an axis once");
    }
  }
  return expand_to(node, *value, axes);
}

Value KernelBuilder::expand_as(const ast::Expression& node) {
  std::vector<Operand> a;
  if (!only_named(node, {}) || !operands_of(node, 2, 2, find_builtin(node.text)->usage, &a)) return Value::error();
  const ValueId value = materialise(a[0].value);
  return expand_to(node, value, type_of(a[1].value).axes);
}

Value KernelBuilder::squeeze(const ast::Expression& node) {
  if (!only_named(node, {"dim"})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  const Type from = kernel_.type(*value);
  if (node.children.size() == 1 && node.named.empty()) {
    ValueId rest = *value;
    for (int dim = from.rank(); dim-- > 0;) {
      if (from.axes[static_cast<size_t>(dim)] == kUnitAxis) rest = builder_.squeeze(rest, dim);
    }
    return Value::typed(rest);
  }
  const std::optional<int64_t> dim = dim_argument(node, 1, from.rank(), std::nullopt);
  if (!dim) return Value::error();
  const AxisId axis = from.axes[static_cast<size_t>(*dim)];
  if (axis != kUnitAxis) {
    return fail(node.range, "squeeze drops axes of extent 1, and this one is " + describe_axis(axis));
  }
  builder_.set_range(node.range);
  return Value::typed(builder_.squeeze(*value, static_cast<int>(*dim)));
}

Value KernelBuilder::unsqueeze(const ast::Expression& node) {
  if (!only_named(node, {"dim"})) return Value::error();
  const std::optional<ValueId> value = viewed_value(node);
  if (!value) return Value::error();
  const std::optional<int64_t> dim = dim_argument(node, 1, kernel_.type(*value).rank() + 1, std::nullopt);
  if (!dim) return Value::error();
  builder_.set_range(node.range);
  return Value::typed(builder_.expand_dims(*value, static_cast<int>(*dim)));
}

}  // namespace kaon::compiler
