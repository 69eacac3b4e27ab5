// Moving slices up and concats down.
#include "compiler/config/part_views.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "compiler/config/axis_sets.h"
#include "compiler/config/part_emitter.h"
#include "compiler/ir/view_rules.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

/// A value that is also known as its parts along one dim.
struct Split {
  size_t dim = 0;
  std::vector<ValueId> values;
  std::vector<Part> parts;
};

class PartPusher {
 public:
  explicit PartPusher(Kernel& kernel) : kernel_(kernel), links_(find_axis_links(kernel)), emitter_(kernel) {}

  void run(Region* region) {
    std::vector<std::unique_ptr<Op>> old = std::move(region->ops);
    region->ops.clear();
    const auto outer = splits_;
    const auto outer_begins = begins_;
    emitter_.enter();
    for (auto& op : old) {
      for (Region& inner : op->regions) run(&inner);
      Builder builder(kernel_, *region);
      builder.set_range(op->range);
      const Op& original = *op;
      const bool is_replaced = original.kind == OpKind::kStore && store_parts(builder, original);
      if (is_replaced) continue;
      emitter_.note(original);
      region->ops.push_back(std::move(op));
      builder.set_insertion(*region, region->ops.size());
      rewrite(builder, original);
    }
    emitter_.leave();
    splits_ = outer;
    begins_ = outer_begins;
  }

  const std::vector<std::pair<ValueId, ValueId>>& replaced() const { return replaced_; }

 private:
  bool is_row(AxisId axis) const { return axis != kUnitAxis && is_row_axis(kernel_.axis(axis)); }

  /// Whether parts of `whole` are better off by themselves than cut in registers.
  bool wants_parts(AxisId whole, AxisId part, bool by_device) const {
    if (whole == kUnitAxis || kernel_.axis(whole).kind == AxisKind::kTile) return false;
    if (is_row(whole)) return true;
    if (by_device) return true;
    if (part == kUnitAxis) return links_.needs[static_cast<size_t>(links_.root(whole))].in_registers.empty();
    return links_.root(part) != links_.root(whole);
  }

  void rewrite(Builder& builder, const Op& op) {
    if (op.kind == OpKind::kSlice) {
      push_slice(builder, op);
    } else if (op.kind == OpKind::kConcat) {
      split_concat(builder, op);
    } else if (op.kind == OpKind::kReduce) {
      split_reduce(builder, op);
    } else if (is_elementwise(op.kind)) {
      split_lanes(builder, op);
    }
  }

  /// Uses of the slice read the part that is computed by itself, if that can be.
  void push_slice(Builder& builder, const Op& op) {
    const auto dim = static_cast<size_t>(op.int_attr("dim"));
    const AxisId whole = kernel_.type(op.operands[0]).axes[dim];
    Part part;
    part.axis = kernel_.type(op.result()).axes[dim];
    part.begin = op.int_attr("begin");
    if (op.operands.size() == 2) part.begin_value = op.operands[1];
    const auto split = splits_.find(op.operands[0]);
    if (split != splits_.end() && split->second.dim == dim) {
      for (size_t i = 0; i < split->second.parts.size(); ++i) {
        if (is_same_part(split->second.parts[i], part)) return replace(op.result(), split->second.values[i]);
      }
    }
    if (!wants_parts(whole, part.axis, part.begin_value != kNoValue) || !emitter_.can_cut(op.operands[0], dim)) return;
    replace(op.result(), emitter_.cut(builder, op.operands[0], dim, part));
  }

  /// Two parts of one extent that begin at the same place, which each may have computed by itself.
  bool is_same_part(const Part& a, const Part& b) const {
    if (a.axis != b.axis || a.begin != b.begin) return false;
    if (a.begin_value == b.begin_value) return true;
    const Op* first = a.begin_value == kNoValue ? nullptr : emitter_.definition(a.begin_value);
    const Op* second = b.begin_value == kNoValue ? nullptr : emitter_.definition(b.begin_value);
    if (first == nullptr || second == nullptr || first->kind != OpKind::kExpr || second->kind != OpKind::kExpr)
      return false;
    return std::get<Expr>(*first->find_attr("expr")) == std::get<Expr>(*second->find_attr("expr"));
  }

  void split_concat(Builder& builder, const Op& op) {
    const auto dim = static_cast<size_t>(op.int_attr("dim"));
    const AxisId whole = kernel_.type(op.result()).axes[dim];
    bool wanted = false;
    for (const ValueId operand : op.operands) wanted |= wants_parts(whole, kernel_.type(operand).axes[dim], false);
    if (!wanted) return;
    Split split;
    split.dim = dim;
    split.values = op.operands;
    Expr begin(0);
    for (const ValueId operand : op.operands) {
      Part part;
      part.axis = kernel_.type(operand).axes[dim];
      if (!begin.is_constant(&part.begin)) part.begin_value = begin_value(builder, begin);
      split.parts.push_back(part);
      begin = begin + (part.axis == kUnitAxis ? Expr(1) : kernel_.axis(part.axis).extent);
    }
    splits_[op.result()] = std::move(split);
  }

  /// One value for each expression, so that parts at the same place are seen to be.
  ValueId begin_value(Builder& builder, const Expr& begin) {
    for (const auto& [expr, value] : begins_) {
      if (expr == begin) return value;
    }
    begins_.push_back({begin, builder.expr(begin)});
    emitter_.note(*builder.region().ops[builder.position() - 1]);
    return begins_.back().second;
  }

  /// The parts of every operand that match those of the operand that is split; nothing if some cannot be cut.
  bool part_operands(Builder& builder, const Op& op, Split* like, std::vector<std::vector<ValueId>>* operands) {
    const Split* found = nullptr;
    for (const ValueId operand : op.operands) {
      const auto split = splits_.find(operand);
      if (split != splits_.end()) found = &split->second;
    }
    if (found == nullptr) return false;
    *like = *found;
    const auto matches = [&](ValueId operand) {
      const auto split = splits_.find(operand);
      return split != splits_.end() && split->second.dim == like->dim && split->second.parts == like->parts;
    };
    for (const ValueId operand : op.operands) {
      if (!matches(operand) && !emitter_.can_cut(operand, like->dim)) return false;
    }
    for (size_t i = 0; i < like->parts.size(); ++i) {
      operands->emplace_back();
      for (const ValueId operand : op.operands) {
        operands->back().push_back(matches(operand) ? splits_[operand].values[i]
                                                    : emitter_.cut(builder, operand, like->dim, like->parts[i]));
      }
    }
    return true;
  }

  void split_lanes(Builder& builder, const Op& op) {
    Split split;
    std::vector<std::vector<ValueId>> operands;
    if (!part_operands(builder, op, &split, &operands)) return;
    const size_t dim = emitter_.result_dim(op, split.dim);
    split.values.clear();
    for (size_t i = 0; i < split.parts.size(); ++i) {
      split.values.push_back(emitter_.repeat(builder, op, operands[i], dim, split.parts[i]));
    }
    split.dim = dim;
    splits_[op.result()] = std::move(split);
  }

  void split_reduce(Builder& builder, const Op& op) {
    const auto found = splits_.find(op.operands[0]);
    if (found == splits_.end()) return;
    Split split = found->second;
    const auto& dims = op.ints_attr("dims");
    const bool folds = std::find(dims.begin(), dims.end(), static_cast<int64_t>(split.dim)) != dims.end();
    ReduceFn fn = ReduceFn::kSum;
    parse_fn(op.str_attr("fn"), &fn);
    std::vector<ValueId> results;
    for (const ValueId value : split.values) results.push_back(emitter_.reduce_part(builder, op, value));
    if (!folds) {
      split.values = std::move(results);
      split.dim = emitter_.result_dim(op, split.dim);
      splits_[op.result()] = std::move(split);
      return;
    }
    ValueId sum = results[0];
    for (size_t i = 1; i < results.size(); ++i) sum = builder.binary(combining(fn), sum, results[i]);
    replace(op.result(), sum);
  }

  static BinaryFn combining(ReduceFn fn) {
    switch (fn) {
      case ReduceFn::kSum: return BinaryFn::kAdd;
      case ReduceFn::kProd: return BinaryFn::kMul;
      case ReduceFn::kMax: return BinaryFn::kMax;
      case ReduceFn::kMin: return BinaryFn::kMin;
    }
    return BinaryFn::kAdd;
  }

  /// A store of joined parts: true when it was written as stores of the parts.
  bool store_parts(Builder& builder, const Op& op) {
    const auto found = splits_.find(op.operands[0]);
    if (found == splits_.end() || op.int_attr("masked") != 0) return false;
    const Split split = found->second;
    const AxisId whole = kernel_.type(op.operands[0]).axes[split.dim];
    const std::vector<Indexer>& index = op.index_attr("index");
    for (const Indexer& indexer : index) {
      if (indexer.kind != Indexer::Kind::kTile) continue;
      const auto& axes = kernel_.type(op.operands[static_cast<size_t>(indexer.operand)]).axes;
      if (std::find(axes.begin(), axes.end(), whole) != axes.end()) return false;
    }
    for (size_t i = 0; i < split.parts.size(); ++i)
      emitter_.store_part(builder, op, split.values[i], whole, split.parts[i]);
    return true;
  }

  void replace(ValueId from, ValueId to) { replaced_.push_back({from, to}); }

  Kernel& kernel_;
  AxisLinks links_;
  PartEmitter emitter_;
  std::map<ValueId, Split> splits_;
  std::vector<std::pair<Expr, ValueId>> begins_;
  std::vector<std::pair<ValueId, ValueId>> replaced_;
};

}  // namespace

void push_parts(Kernel& kernel) {
  bool has_views = false;
  walk(kernel.body,
       [&](const Op& op, const OpPlace&) { has_views |= op.kind == OpKind::kSlice || op.kind == OpKind::kConcat; });
  if (!has_views) return;
  PartPusher pusher(kernel);
  pusher.run(&kernel.body);
  for (const auto& [from, to] : pusher.replaced()) replace_uses(kernel, from, to);
  erase_dead_ops(kernel);
}

}  // namespace kaon::compiler
