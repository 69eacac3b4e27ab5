// x[m, :], w[0:H, None], v[:, None]: loads from tensors, views of values, and where stores go.
#include <algorithm>

#include "compiler/frontend/kernel_builder.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

using ast::ExpressionKind;

bool is_whole_slice(const ast::Expression& item) {
  return item.kind == ExpressionKind::kSlice && item.children[0] == nullptr && item.children[1] == nullptr;
}

// What Python's negative index means: "N - 1".
std::string from_end(const HostInt& extent, const HostInt& negative) {
  const std::optional<HostInt> sum = HostInt::binary(ExprOp::kAdd, extent, negative);
  return sum ? sum->to_string() : extent.to_string() + " - ...";
}

}  // namespace

Value KernelBuilder::subscript(const ast::Expression& node) {
  const Value base = expression(*node.children[0]);
  builder_.set_range(node.range);
  if (base.is_error()) return base;
  if (base.kind == Value::Kind::kTensor) return load(node, base);
  if (base.is_tuple()) return tuple_item(node, base);
  if (!require_number({base, node.children[0].get()})) return Value::error();
  return view(node, base);
}

bool KernelBuilder::is_readable(const Value& tensor, SourceRange range) {
  const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(tensor.tensor)];
  if (!param.is_output) return true;
  std::string message = "`" + param.name + "` is an output and cannot be read";
  message += param.aliases.empty() ? "; keep the value in a `let`"
                                   : "; read the input " + param.aliases + " that it may share its memory with";
  fail(range, message, {{facts_.places[param.name], param.name + " is declared here"}});
  return false;
}

Value KernelBuilder::load(const ast::Expression& node, const Value& tensor) {
  if (!is_readable(tensor, node.range)) return Value::error();
  Items items;
  for (size_t i = 1; i < node.children.size(); ++i) items.push_back(node.children[i].get());
  Place place;
  if (!place_of(items, node.focus, tensor, /*is_store=*/false, &place)) return Value::error();
  builder_.set_range(node.range);
  return Value::typed(from_place(builder_.load(tensor.tensor, place.index), place));
}

Value KernelBuilder::view(const ast::Expression& node, const Value& base) {
  const int rank = type_of(base).rank();
  int listed = 0;
  for (size_t i = 1; i < node.children.size(); ++i) listed += node.children[i]->kind != ExpressionKind::kNone;
  if (listed != rank) {
    return fail(node.focus, "the value is " + describe(base) + " with " + std::to_string(rank) +
                                (rank == 1 ? " axis" : " axes") + ", the subscript has " + std::to_string(listed) +
                                (listed == 1 ? " item" : " items") + "; write `:` for each axis that stays whole");
  }
  ValueId value = materialise(base);
  int dim = 0;
  for (size_t i = 1; i < node.children.size(); ++i) {
    const ast::Expression& item = *node.children[i];
    if (item.kind == ExpressionKind::kNone) {
      value = builder_.expand_dims(value, dim++);
    } else if (is_whole_slice(item)) {
      ++dim;
    } else {
      const std::optional<std::pair<ValueId, bool>> part = cut_item(item, value, dim);
      if (!part) return Value::error();
      value = part->first;
      dim += part->second ? 1 : 0;
    }
    builder_.set_range(node.range);
  }
  return Value::typed(value);
}

bool KernelBuilder::place_of(const Items& items, SourceRange focus, const Value& tensor, bool is_store, Place* out) {
  const std::vector<HostInt>& extents = facts_.extents[static_cast<size_t>(tensor.tensor)];
  bool ok = true;
  size_t listed = 0;
  for (const ast::Expression* item : items) {
    if (item->kind != ExpressionKind::kNone) ++listed;
  }
  if (listed != extents.size()) {
    fail(focus,
         "tensor " + tensor.name + " has " + std::to_string(extents.size()) +
             (extents.size() == 1 ? " dimension" : " dimensions") + ", the subscript has " + std::to_string(listed) +
             "; write `:` for a whole dimension",
         {{facts_.places[tensor.name], tensor.name + " is declared here"}});
    return false;
  }
  for (const ast::Expression* item : items) {
    if (item->kind == ExpressionKind::kNone) {
      if (!is_store) continue;
      fail(item->range, "`None` cannot stand on the left; the value is broadcast to the shape that is stored to");
      return false;
    }
    const size_t before = out->index.size();
    ok = subscript_item(*item, tensor, before, is_store, &out->index) && ok;
    if (out->index.size() == before) out->index.push_back(Subscript::at(kNoValue));  // keeps dimensions in step
  }
  return ok && join_axes(items, out) && !lacks_parent(focus, is_store ? "this store" : "this load", op_axes(*out));
}

bool KernelBuilder::subscript_item(const ast::Expression& item, const Value& tensor, size_t dim, bool is_store,
                                   std::vector<Subscript>* out) {
  if (item.kind == ExpressionKind::kSlice) return slice_subscript(item, tensor, dim, is_store, out);
  const Value value = expression(item);
  if (value.is_error()) return false;
  if (value.kind == Value::Kind::kTileVariable) return tile_subscript(item, value, tensor, dim, is_store, out);
  if (!require_number({value, &item})) return false;
  return scalar_subscript(item, value, tensor, dim, out);
}

bool KernelBuilder::tile_subscript(const ast::Expression& item, const Value& variable, const Value& tensor, size_t dim,
                                   bool is_store, std::vector<Subscript>* out) {
  for (const Subscript& earlier : *out) {
    if (earlier.kind != Indexer::Kind::kAxis || earlier.axis != variable.axis) continue;
    fail(item.range, "tile variable " + variable.name + " indexes two dimensions of " + tensor.name +
                         "; a value has an axis once, so loop over a second tile variable");
    return false;
  }
  const HostInt& extent = facts_.extents[static_cast<size_t>(tensor.tensor)][dim];
  const AxisRange& range = ranges_[static_cast<size_t>(variable.axis)];
  // A store leaves out lanes beyond its destination; a load has to stay inside.
  if (!is_store && range.end) {
    const std::optional<HostInt> room = HostInt::binary(ExprOp::kSub, extent, *range.end);
    if (!room || !is_natural(*room)) {
      std::vector<Note> notes = {{facts_.places[tensor.name], tensor.name + " is declared here"}};
      if (const Binding* binding = find(variable.name); binding != nullptr && binding->range.is_known()) {
        notes.push_back({binding->range, variable.name + " runs up to " + range.end->to_string()});
      }
      fail(item.range,
           "tile variable " + variable.name + " runs up to " + range.end->to_string() + ", but dimension " +
               std::to_string(dim) + " of " + tensor.name + " has extent " + extent.to_string() +
               "; if it is enough, say so with `require " + range.end->to_string() + " <= " + extent.to_string() + "`",
           notes);
      return false;
    }
  }
  out->push_back(Subscript::along(variable.axis));
  return true;
}

int KernelBuilder::occurrences(const std::vector<Subscript>& subscripts, const HostInt& extent) {
  int count = 0;
  for (const Subscript& earlier : subscripts) {
    if (earlier.kind != Indexer::Kind::kAxis || kernel_.axis(earlier.axis).kind == AxisKind::kTile) continue;
    const std::optional<HostInt>& end = ranges_[static_cast<size_t>(earlier.axis)].end;
    if (end && *end == extent) ++count;
  }
  return count;
}

bool KernelBuilder::slice_subscript(const ast::Expression& item, const Value& tensor, size_t dim, bool is_store,
                                    std::vector<Subscript>* out) {
  const HostInt& extent = facts_.extents[static_cast<size_t>(tensor.tensor)][dim];
  SliceBounds bounds;
  if (!slice_bounds(item, extent, &bounds)) return false;
  if (bounds.is_on_device()) return device_slice(item, tensor, dim, is_store, bounds, out);
  const HostInt begin = *bounds.begin, end = *bounds.end;
  const std::optional<HostInt> length = HostInt::binary(ExprOp::kSub, end, begin);
  const std::optional<HostInt> room = HostInt::binary(ExprOp::kSub, extent, end);
  const std::string text = begin.to_string() + ":" + end.to_string();
  if (!length || !is_natural(*length) || !is_natural(begin)) {
    fail(item.range, "the slice " + text + " could have a negative length; if it cannot, say so with `require " +
                         begin.to_string() + " <= " + end.to_string() + "`");
    return false;
  }
  if (!room || !is_natural(*room)) {
    fail(item.range,
         "the slice " + text + " may end beyond dimension " + std::to_string(dim) + " of " + tensor.name +
             ", which has extent " + extent.to_string() + "; if it is enough, say so with `require " + end.to_string() +
             " <= " + extent.to_string() + "`",
         {{facts_.places[tensor.name], tensor.name + " is declared here"}});
    return false;
  }
  const AxisId axis = whole_axis(*length, occurrences(*out, *length), AxisKind::kFull);
  out->push_back(Subscript::along(axis, begin == HostInt(0) ? kNoValue : materialise(Value::host_int(begin))));
  return true;
}

bool KernelBuilder::scalar_subscript(const ast::Expression& item, const Value& value, const Value& tensor, size_t dim,
                                     std::vector<Subscript>* out) {
  const HostInt& extent = facts_.extents[static_cast<size_t>(tensor.tensor)][dim];
  if (!type_of(value).is_scalar()) {
    if (!dtype_is_int(type_of(value).dtype)) {
      fail(item.range, "an index is an integer, got " + describe(value) + "; cast it, as in i64(...)");
      return false;
    }
    out->push_back(Subscript::gather(materialise(value)));
    return true;
  }
  const std::optional<HostInt> host =
      value.kind == Value::Kind::kIntLiteral ? std::optional<HostInt>(value.int_value) : value.host;
  if (host && host->constant().value_or(0) < 0) {
    fail(item.range, "index " + host->to_string() + " is negative; count from the end with " + from_end(extent, *host));
    return false;
  }
  if (host && host->constant() && extent.constant() && *host->constant() >= *extent.constant()) {
    fail(item.range,
         "index " + host->to_string() + " is outside dimension " + std::to_string(dim) + " of " + tensor.name +
             ", which has extent " + extent.to_string(),
         {{facts_.places[tensor.name], tensor.name + " is declared here"}});
    return false;
  }
  const std::optional<ValueId> index = as_index({value, &item});
  if (!index) return false;
  out->push_back(Subscript::at(*index));
  return true;
}

}  // namespace kaon::compiler
