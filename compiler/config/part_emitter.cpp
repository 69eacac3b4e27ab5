// Repeating ops on parts of their operands.
#include "compiler/config/part_emitter.h"

#include <algorithm>

#include "compiler/ir/view_rules.h"

namespace kaon::compiler {

PartEmitter::PartEmitter(Kernel& kernel) : kernel_(kernel) {}

void PartEmitter::enter() {
  known_.push_back({});
  open_.push_back(num_regions_++);
}

void PartEmitter::leave() {
  known_.pop_back();
  open_.pop_back();
}

void PartEmitter::note(const Op& op) {
  has_stored_ |= op.kind == OpKind::kStore || op.kind == OpKind::kAtomic;
  for (const ValueId result : op.results) {
    definitions_[result] = &op;
    regions_[result] = open_.back();
  }
}

const Op* PartEmitter::definition(ValueId value) const {
  const auto found = definitions_.find(value);
  return found == definitions_.end() ? nullptr : found->second;
}

size_t PartEmitter::operand_dim(const Op& op, size_t dim) const {
  const auto at = static_cast<size_t>(op.int_attr("dim"));
  if (op.kind == OpKind::kExpandDims) return dim > at ? dim - 1 : dim;
  if (op.kind == OpKind::kSqueeze) return dim >= at ? dim + 1 : dim;
  if (op.kind == OpKind::kPermute) return static_cast<size_t>(op.ints_attr("perm")[dim]);
  if (op.kind != OpKind::kReduce || op.int_attr("keepdim") != 0) return dim;
  const auto& dims = op.ints_attr("dims");
  for (size_t own = 0;; ++own) {
    const bool folded = std::find(dims.begin(), dims.end(), static_cast<int64_t>(own)) != dims.end();
    if (!folded && dim-- == 0) return own;
  }
}

size_t PartEmitter::result_dim(const Op& op, size_t dim) const {
  for (size_t own = 0;; ++own) {
    if (op.kind == OpKind::kExpandDims && static_cast<int64_t>(own) == op.int_attr("dim")) continue;
    if (operand_dim(op, own) == dim) return own;
  }
}

int PartEmitter::regrouped_dim(const Op& op, size_t dim) const {
  const std::vector<AxisId>& from = kernel_.type(op.operands[0]).axes;
  const std::vector<AxisId>& to = kernel_.type(op.result()).axes;
  for (const RegroupedDims& group : regrouped_dims(kernel_, from, to)) {
    if (static_cast<int>(dim) < group.to_begin || static_cast<int>(dim) >= group.to_end) continue;
    int first = -1, count = 0;
    for (int i = group.from_begin; i < group.from_end; ++i) {
      if (from[static_cast<size_t>(i)] != kUnitAxis) first = i, ++count;
    }
    for (int i = group.to_begin; i < static_cast<int>(dim); ++i) {
      if (to[static_cast<size_t>(i)] != kUnitAxis) return -1;
    }
    return count == 1 ? first : -1;
  }
  return -1;
}

bool PartEmitter::can_cut_load(const Op& op, size_t dim) const {
  const TensorParam& tensor = kernel_.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))];
  bool is_shared = tensor.is_output;
  for (const TensorParam& other : kernel_.signature.tensors) is_shared |= other.aliases == tensor.name;
  // What an output may overwrite is read again only where nothing was stored since.
  const auto region = regions_.find(op.result());
  if (is_shared && (has_stored_ || region == regions_.end() || region->second != open_.back())) return false;
  const AxisId axis = kernel_.type(op.result()).axes[dim];
  for (const Indexer& indexer : op.index_attr("index")) {
    if (indexer.kind != Indexer::Kind::kTile) continue;
    const ValueId tile = op.operands[static_cast<size_t>(indexer.operand)];
    const auto& axes = kernel_.type(tile).axes;
    const auto at = std::find(axes.begin(), axes.end(), axis);
    if (at != axes.end() && !can_cut(tile, static_cast<size_t>(at - axes.begin()))) return false;
  }
  const AccessOperands operands = access_operands(op);
  return (operands.mask == kNoValue || can_cut(operands.mask, dim)) &&
         (operands.other == kNoValue || can_cut(operands.other, dim));
}

bool PartEmitter::can_cut(ValueId value, size_t dim) const {
  const Op* op = definition(value);
  if (op == nullptr) return false;
  const auto all_operands = [&](size_t at) {
    return std::all_of(op->operands.begin(), op->operands.end(), [&](ValueId operand) { return can_cut(operand, at); });
  };
  switch (op->kind) {
    case OpKind::kConst:
    case OpKind::kIndex: return true;
    case OpKind::kLoad: return can_cut_load(*op, dim);
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kCast: return all_operands(dim);
    case OpKind::kBroadcast:
      return kernel_.type(op->operands[0]).axes[dim] == kUnitAxis || can_cut(op->operands[0], dim);
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kPermute:
    case OpKind::kReduce: return can_cut(op->operands[0], operand_dim(*op, dim));
    case OpKind::kSlice: return can_cut(op->operands[0], dim);
    case OpKind::kConcat: return static_cast<size_t>(op->int_attr("dim")) != dim && all_operands(dim);
    case OpKind::kReshape: {
      const int from = regrouped_dim(*op, dim);
      return from >= 0 && can_cut(op->operands[0], static_cast<size_t>(from));
    }
    default: return false;
  }
}

ValueId PartEmitter::cut(Builder& builder, ValueId value, size_t dim, const Part& part) {
  const Key key{value, dim, part.axis, part.begin, part.begin_value};
  for (const auto& region : known_) {
    const auto found = region.find(key);
    if (found != region.end()) return found->second;
  }
  const ValueId made = emit(builder, *definition(value), dim, part);
  known_.back()[key] = made;
  return made;
}

ValueId PartEmitter::begin_of(Builder& builder, const Part& part, ValueId added) {
  ValueId begin = part.begin_value;
  for (const ValueId term : {part.begin == 0 ? kNoValue : builder.int_const(DType::kI64, part.begin), added}) {
    if (term == kNoValue) continue;
    begin = begin == kNoValue
                ? term
                : builder.binary(BinaryFn::kAdd, builder.cast(begin, DType::kI64), builder.cast(term, DType::kI64));
  }
  return begin;
}

/// The indexers with `whole` replaced by the part; `operands` gets what they read.
std::vector<Indexer> PartEmitter::moved_index(Builder& builder, const Op& op, AxisId whole, const Part& part,
                                              std::vector<ValueId>* operands) {
  std::vector<Indexer> moved;
  for (const Indexer& indexer : op.index_attr("index")) {
    Indexer out = indexer;
    ValueId operand = indexer.operand < 0 ? kNoValue : op.operands[static_cast<size_t>(indexer.operand)];
    if (indexer.kind == Indexer::Kind::kAxis && indexer.axis == whole) {
      operand = begin_of(builder, part, operand);
      out.axis = part.axis;
      if (part.axis == kUnitAxis) {
        out.kind = Indexer::Kind::kScalar;
        if (operand == kNoValue) operand = builder.int_const(DType::kI64, 0);
      }
    } else if (indexer.kind == Indexer::Kind::kTile) {
      const std::vector<AxisId> axes = kernel_.type(operand).axes;
      const auto at = std::find(axes.begin(), axes.end(), whole);
      if (at != axes.end()) {
        const auto dim = static_cast<size_t>(at - axes.begin());
        operand = cut(builder, operand, dim, part);
        if (part.axis == kUnitAxis) operand = builder.squeeze(operand, static_cast<int>(dim));
        if (kernel_.type(operand).is_scalar()) out.kind = Indexer::Kind::kScalar;
      }
    }
    out.operand = -1;
    if (operand != kNoValue) {
      out.operand = static_cast<int>(operands->size());
      operands->push_back(operand);
    }
    moved.push_back(out);
  }
  return moved;
}

ValueId PartEmitter::cut_load(Builder& builder, const Op& op, size_t dim, const Part& part) {
  const Type type = kernel_.type(op.result());
  std::vector<ValueId> operands;
  std::vector<Indexer> index = moved_index(builder, op, type.axes[dim], part, &operands);
  const AccessOperands access = access_operands(op);
  for (ValueId operand : {access.mask, access.other}) {
    if (operand == kNoValue) continue;
    operand = cut(builder, operand, dim, part);
    operands.push_back(part.axis == kUnitAxis ? builder.squeeze(operand, static_cast<int>(dim)) : operand);
  }
  Op& load = builder.insert(OpKind::kLoad, std::move(operands));
  load.attrs = op.attrs;
  load.set_attr("index", std::move(index));
  const ValueId value = builder.add_result(load, type);
  note(load);
  return part.axis == kUnitAxis ? builder.expand_dims(value, static_cast<int>(dim)) : value;
}

ValueId PartEmitter::cut_index(Builder& builder, const Part& part) {
  const ValueId begin = begin_of(builder, part, kNoValue);
  if (part.axis == kUnitAxis) {
    return builder.expand_dims(begin == kNoValue ? builder.int_const(DType::kI64, 0) : begin, 0);
  }
  const ValueId index = builder.index(part.axis);
  if (begin == kNoValue) return index;
  return builder.binary(BinaryFn::kAdd, index, builder.broadcast_to(begin, {part.axis}));
}

/// The part in front of a group is a part of the axis that the group was: `stride` times as long.
ValueId PartEmitter::cut_reshape(Builder& builder, const Op& op, size_t dim, const Part& part) {
  const Type& from = kernel_.type(op.operands[0]);
  const auto whole_dim = static_cast<size_t>(regrouped_dim(op, dim));
  const AxisId whole = from.axes[whole_dim];
  Type type = kernel_.type(op.result());
  if (type.axes[dim] == whole) {  // an axis that stays
    type.axes[dim] = part.axis;
    const ValueId value = cut(builder, op.operands[0], whole_dim, part);
    return builder.add_result(builder.insert(OpKind::kReshape, {value}), type);
  }
  const int64_t stride = constant_extent(kernel_, whole) / constant_extent(kernel_, type.axes[dim]);
  const int64_t length = constant_extent(kernel_, part.axis) * stride;
  Part source;
  source.begin = part.begin * stride;
  if (part.begin_value != kNoValue) {
    source.begin_value = builder.binary(BinaryFn::kMul, part.begin_value, builder.int_const(DType::kI64, stride));
  }
  type.axes[dim] = part.axis;
  // The group's other axes, where they are a single one of that length, are the part's.
  for (const AxisId axis : type.axes) {
    const bool elsewhere = std::find(from.axes.begin(), from.axes.end(), axis) != from.axes.end();
    if (axis != kUnitAxis && !elsewhere && constant_extent(kernel_, axis) == length) source.axis = axis;
  }
  if (source.axis == kUnitAxis && length > 1) {
    Axis axis;
    axis.name = kernel_.axis(whole).name + "." + std::to_string(kernel_.axes.size());
    axis.kind = AxisKind::kStatic;
    axis.extent = Expr(length);
    source.axis = kernel_.new_axis(std::move(axis));
  }
  const ValueId value = cut(builder, op.operands[0], whole_dim, source);
  if (kernel_.type(value).axes == type.axes) return value;
  return builder.add_result(builder.insert(OpKind::kReshape, {value}), type);
}

ValueId PartEmitter::emit(Builder& builder, const Op& op, size_t dim, const Part& part) {
  switch (op.kind) {
    case OpKind::kLoad: return cut_load(builder, op, dim, part);
    case OpKind::kIndex: return cut_index(builder, part);
    case OpKind::kReshape: return cut_reshape(builder, op, dim, part);
    case OpKind::kSlice: {
      const auto own = static_cast<size_t>(op.int_attr("dim"));
      if (own == dim) {
        Part source = part;
        source.begin += op.int_attr("begin");
        if (op.operands.size() == 2) {
          source.begin_value = part.begin_value == kNoValue
                                   ? op.operands[1]
                                   : builder.binary(BinaryFn::kAdd, part.begin_value, op.operands[1]);
        }
        return cut(builder, op.operands[0], dim, source);
      }
      std::vector<ValueId> operands = op.operands;
      operands[0] = cut(builder, operands[0], dim, part);
      return repeat(builder, op, std::move(operands), dim, part);
    }
    default: {
      std::vector<ValueId> operands;
      for (const ValueId operand : op.operands) {
        const bool stays = op.kind == OpKind::kBroadcast && kernel_.type(operand).axes[dim] == kUnitAxis;
        operands.push_back(stays ? operand : cut(builder, operand, operand_dim(op, dim), part));
      }
      return repeat(builder, op, std::move(operands), dim, part);
    }
  }
}

ValueId PartEmitter::repeat(Builder& builder, const Op& op, std::vector<ValueId> operands, size_t dim,
                            const Part& part) {
  Type type = kernel_.type(op.result());
  type.axes[dim] = part.axis;
  Op& made = builder.insert(op.kind, std::move(operands));
  made.attrs = op.attrs;
  const ValueId value = builder.add_result(made, type);
  note(made);
  return value;
}

ValueId PartEmitter::reduce_part(Builder& builder, const Op& op, ValueId part) {
  // Dims of extent 1 have nothing to fold, and no axis that a reduction could name.
  std::vector<int64_t> dims, units;
  for (const int64_t dim : op.ints_attr("dims")) {
    (kernel_.type(part).axes[static_cast<size_t>(dim)] == kUnitAxis ? units : dims).push_back(dim);
  }
  const bool keepdim = op.int_attr("keepdim") != 0;
  ReduceFn fn = ReduceFn::kSum;
  parse_fn(op.str_attr("fn"), &fn);
  ValueId value = part;
  if (!dims.empty()) value = builder.reduce(fn, value, dims, /*keepdim=*/true);
  if (keepdim) return value;
  std::vector<int64_t> dropped = op.ints_attr("dims");
  std::sort(dropped.rbegin(), dropped.rend());
  for (const int64_t dim : dropped) value = builder.squeeze(value, static_cast<int>(dim));
  return value;
}

void PartEmitter::store_part(Builder& builder, const Op& op, ValueId value, AxisId whole, const Part& part) {
  if (part.axis == kUnitAxis) {
    const auto& axes = kernel_.type(op.operands[0]).axes;
    const auto dim = static_cast<int>(std::find(axes.begin(), axes.end(), whole) - axes.begin());
    value = builder.squeeze(value, dim);
  }
  std::vector<ValueId> operands = {value};
  std::vector<Indexer> index = moved_index(builder, op, whole, part, &operands);
  Op& store = builder.insert(OpKind::kStore, std::move(operands));
  store.attrs = op.attrs;
  store.set_attr("index", std::move(index));
  note(store);
}

}  // namespace kaon::compiler
