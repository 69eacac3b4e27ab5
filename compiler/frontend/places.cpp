// Which axes the place behind a subscript has, tiles of indices included, and how values are given them.
#include <algorithm>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;

void append_once(AxisId axis, std::vector<AxisId>* axes) {
  if (axis != kUnitAxis && std::find(axes->begin(), axes->end(), axis) == axes->end()) axes->push_back(axis);
}

}  // namespace

// Tiles of indices broadcast with each other as operands do.
bool KernelBuilder::common_index_axes(const Items& items, const Place& place, std::vector<AxisId>* axes) {
  size_t dim = 0;
  const ast::Expression* first = nullptr;
  for (const ast::Expression* item : items) {
    if (item->kind == ExpressionKind::kNone) continue;
    const Subscript& subscript = place.index[dim++];
    if (subscript.kind != Indexer::Kind::kTile) continue;
    if (first == nullptr) first = item;
    const std::vector<AxisId> before = *axes;
    const std::vector<AxisId>& own = kernel_.type(subscript.value).axes;
    if (own.size() > axes->size()) axes->insert(axes->begin(), own.size() - axes->size(), kUnitAxis);
    const size_t shift = axes->size() - own.size();
    for (size_t i = 0; i < own.size(); ++i) {
      AxisId& here = (*axes)[i + shift];
      if (own[i] == kUnitAxis || own[i] == here) continue;
      if (here != kUnitAxis) {
        fail(item->range,
             "the indices of one subscript do not match: " + axes_text(kernel_, before) + " and " +
                 axes_text(kernel_, own) +
                 "; for every pair of them write [:, None] after the first and [None, :] "
                 "after the second",
             {{first->range, "the first is here"}});
        return false;
      }
      here = own[i];
    }
    for (size_t i = 0; i < axes->size(); ++i) {
      const bool again = std::count(axes->begin(), axes->end(), (*axes)[i]) > 1;
      if ((*axes)[i] == kUnitAxis || !again) continue;
      fail(item->range, "the indices of one subscript would have axis " + kernel_.axis((*axes)[i]).name +
                            " twice; a value has an axis once");
      return false;
    }
  }
  return true;
}

// The common axes of the index tiles stand where the first of them does. A tile variable that is not among them takes
// the first axis of extent 1 there, as its coordinates would; everything else keeps its own place.
bool KernelBuilder::join_axes(const Items& items, Place* place) {
  std::vector<AxisId> common;
  if (!common_index_axes(items, *place, &common)) return false;
  std::vector<AxisId> before, behind;
  bool has_tile = false;
  size_t dim = 0;
  for (const ast::Expression* item : items) {
    std::vector<AxisId>& side = has_tile ? behind : before;
    if (item->kind == ExpressionKind::kNone) {
      side.push_back(kUnitAxis);
      continue;
    }
    Subscript& subscript = place->index[dim++];
    if (subscript.kind == Indexer::Kind::kTile) has_tile = true;
    if (subscript.kind != Indexer::Kind::kAxis) continue;
    if (std::find(common.begin(), common.end(), subscript.axis) != common.end()) continue;
    const auto free = std::find(common.begin(), common.end(), kUnitAxis);
    if (free != common.end() && kernel_.axis(subscript.axis).kind == AxisKind::kTile) {
      *free = subscript.axis;
    } else {
      side.push_back(subscript.axis);
    }
  }
  place->axes = before;
  place->axes.insert(place->axes.end(), common.begin(), common.end());
  place->axes.insert(place->axes.end(), behind.begin(), behind.end());
  if (place->axes.size() > static_cast<size_t>(kMaxRank)) {
    fail(items[0]->range, "the subscript gives " + std::to_string(place->axes.size()) + " axes, the most is " +
                              std::to_string(kMaxRank));
    return false;
  }
  for (Subscript& subscript : place->index) {
    if (subscript.kind != Indexer::Kind::kTile) continue;
    for (size_t i = kernel_.type(subscript.value).axes.size(); i-- > 0;) {
      if (kernel_.type(subscript.value).axes[i] == kUnitAxis)
        subscript.value = builder_.squeeze(subscript.value, static_cast<int>(i));
    }
    // All axes of extent 1: one index.
    if (kernel_.type(subscript.value).is_scalar()) subscript = Subscript::at(subscript.value);
  }
  return true;
}

// The axes of the op that accesses the place: each once, in the order of the dimensions.
std::vector<AxisId> KernelBuilder::op_axes(const Place& place) {
  std::vector<AxisId> axes;
  for (const Subscript& subscript : place.index) {
    if (subscript.kind == Indexer::Kind::kAxis) append_once(subscript.axis, &axes);
    if (subscript.kind != Indexer::Kind::kTile) continue;
    for (AxisId axis : kernel_.type(subscript.value).axes) append_once(axis, &axes);
  }
  return axes;
}

// `value`, which has the place's axes or fewer, with those of the op.
ValueId KernelBuilder::to_place(ValueId value, const Place& place) {
  value = spread(value, place.axes);
  for (size_t i = place.axes.size(); i-- > 0;) {
    if (place.axes[i] == kUnitAxis) value = builder_.squeeze(value, static_cast<int>(i));
  }
  const std::vector<AxisId> own = kernel_.type(value).axes;
  const std::vector<AxisId> wanted = op_axes(place);
  if (own == wanted) return value;
  std::vector<int64_t> perm;
  for (AxisId axis : wanted) perm.push_back(std::find(own.begin(), own.end(), axis) - own.begin());
  return builder_.permute(value, std::move(perm));
}

ValueId KernelBuilder::from_place(ValueId loaded, const Place& place) {
  std::vector<AxisId> wanted;
  for (AxisId axis : place.axes) {
    if (axis != kUnitAxis) wanted.push_back(axis);
  }
  const std::vector<AxisId> own = kernel_.type(loaded).axes;
  if (own != wanted) {
    std::vector<int64_t> perm;
    for (AxisId axis : wanted) perm.push_back(std::find(own.begin(), own.end(), axis) - own.begin());
    loaded = builder_.permute(loaded, std::move(perm));
  }
  for (size_t i = 0; i < place.axes.size(); ++i) {
    if (place.axes[i] == kUnitAxis) loaded = builder_.expand_dims(loaded, static_cast<int>(i));
  }
  return loaded;
}

// A value for the elements of a place: of the tensor's element type, broadcast to the place's axes.
std::optional<ValueId> KernelBuilder::value_at(const Operand& operand, const Value& tensor, const Place& place,
                                               SourceRange target) {
  const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(tensor.tensor)];
  Value value = operand.value;
  if (value.is_error() || !require_number(operand)) return std::nullopt;
  if (value.is_literal() &&
      (dtype_is_float(param.dtype) || (value.kind == Value::Kind::kIntLiteral && dtype_is_int(param.dtype)))) {
    const int errors = diagnostics_.num_errors();
    value = Value::typed(literal_as(value, param.dtype, operand.node->range));
    if (diagnostics_.num_errors() != errors) return std::nullopt;
  }
  const Type type = type_of(value);
  if (type.dtype != param.dtype) {
    const std::string cast = param.dtype_var.empty() ? dtype_name(param.dtype) : param.dtype_var;
    fail(operand.node->range,
         "`" + param.name + "` holds " + dtype_name(param.dtype) + " and the value is " + describe(value) +
             "; cast it with " + cast + "(...)",
         {{facts_.places[param.name], param.name + " is declared here"}});
    return std::nullopt;
  }
  if (!spreads_to(type.axes, place.axes)) {
    const std::string view = type.axes.size() < place.axes.size() ? mend_for_axes(type.axes, place.axes) : "";
    const char* mend = type.axes.size() > place.axes.size()
                           ? "; fold the axes that the place lacks, as in sum(x, dim=1), or store where they are"
                           : "; load the value by what indexes the place, or permute it";
    fail(operand.node->range,
         "the value has shape " + axes_text(kernel_, type.axes) + ", the place that it is stored to has " +
             axes_text(kernel_, place.axes) +
             (view.empty() ? mend : "; write " + view + " after the value to place its axes"),
         {{target, "stored to here"}});
    return std::nullopt;
  }
  return to_place(materialise(value), place);
}

}  // namespace kaon::compiler
