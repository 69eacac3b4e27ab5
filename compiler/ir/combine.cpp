// Rules of combining ops, and their region at work on whole tiles.
#include "compiler/ir/combine.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "compiler/ir/bug.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

/// Operands, results and region of one combining op against each other.
class TupleRules {
 public:
  TupleRules(const Kernel& kernel, const Op& op) : kernel_(kernel), op_(op), size_(tuple_size(op)) {}

  Status check() const {
    KAON_RETURN_IF_ERROR(check_region());
    if (is_folding(op_.kind)) return check_fold();
    return op_.kind == OpKind::kScan ? check_scan() : check_scan_step();
  }

 private:
  const Type& operand(size_t i) const { return kernel_.type(op_.operands[i]); }

  Status check_region() const {
    const Region& region = op_.regions[0];
    if (region.args.empty() || region.args.size() % 2 != 0) {
      return bug("combine: expected arguments for a left and a right tuple, got " + std::to_string(region.args.size()));
    }
    std::set<ValueId> known(region.args.begin(), region.args.end());
    for (size_t i = 0; i < region.args.size(); ++i) {
      const Type expected{member(i % size_), {}};
      const Type& got = kernel_.type(region.args[i]);
      if (got != expected) {
        return bug("combine: argument " + std::to_string(i) + ": expected " + type_text(kernel_, expected) + ", got " +
                   type_text(kernel_, got));
      }
    }
    for (const auto& op : region.ops) {
      if (op->kind == OpKind::kYield) continue;
      if (!may_combine(op->kind)) return bug(std::string("combine: ") + op_info(op->kind).text + " is no scalar op");
      for (ValueId value : op->operands) {
        if (known.count(value) == 0) return bug("combine: a value from outside the region");
      }
      known.insert(op->results.begin(), op->results.end());
    }
    return check_yield(region, known);
  }

  Status check_yield(const Region& region, const std::set<ValueId>& known) const {
    const Op* yield = region.ops.empty() ? nullptr : region.ops.back().get();
    if (yield == nullptr || yield->kind != OpKind::kYield || yield->operands.size() != size_) {
      return bug("combine: expected a yield of " + std::to_string(size_) + " values");
    }
    for (size_t i = 0; i < size_; ++i) {
      const ValueId value = yield->operands[i];
      if (known.count(value) == 0) return bug("combine: a value from outside the region");
      if (kernel_.type(value) == Type{member(i), {}}) continue;
      return bug("combine: result " + std::to_string(i) + ": expected " + dtype_name(member(i)) + ", got " +
                 type_text(kernel_, kernel_.type(value)));
    }
    return Status::ok();
  }

  DType member(size_t i) const { return kernel_.type(op_.regions[0].args[i]).dtype; }

  /// Values [first, first + tuple) of `values` have the members' types over `axes`; a flag behind them is bool.
  Status check_tuple(const char* what, const std::vector<ValueId>& values, size_t first,
                     const std::vector<AxisId>& axes, bool flagged) const {
    for (size_t i = 0; i < size_ + (flagged ? 1 : 0); ++i) {
      const Type expected{i < size_ ? member(i) : DType::kBool, axes};
      const Type& got = kernel_.type(values[first + i]);
      if (got == expected) continue;
      return bug(std::string(what) + " " + std::to_string(first + i) + ": expected " + type_text(kernel_, expected) +
                 ", got " + type_text(kernel_, got));
    }
    return Status::ok();
  }

  Status check_counts(size_t operands, size_t results) const {
    if (op_.operands.size() != operands) {
      return bug("expected " + std::to_string(operands) + " operands, got " + std::to_string(op_.operands.size()));
    }
    if (op_.results.size() == results) return Status::ok();
    return bug("expected " + std::to_string(results) + " results, got " + std::to_string(op_.results.size()));
  }

  /// What stands for a dim that a step folds: a unit axis or the static axis of partial results.
  AxisId partial_axis(ValueId result, size_t dim) const {
    const std::vector<AxisId>& axes = kernel_.type(result).axes;
    if (dim >= axes.size() || axes[dim] == kUnitAxis) return kUnitAxis;
    return kernel_.axis(axes[dim]).kind == AxisKind::kStatic ? axes[dim] : kUnitAxis;
  }

  Status check_fold() const {
    const bool flagged = op_.int_attr("flagged") != 0;
    const bool is_step = op_.kind != OpKind::kFold;
    KAON_RETURN_IF_ERROR(check_counts(size_ + (flagged ? 1 : 0), size_ + (is_step ? 1 : 0)));
    const std::vector<AxisId>& axes = operand(0).axes;
    KAON_RETURN_IF_ERROR(check_tuple("operand", op_.operands, 0, axes, flagged));
    const auto& dims = op_.ints_attr("dims");
    if (dims.empty()) return bug("attribute dims: expected at least one dim of " + type_text(kernel_, operand(0)));
    std::vector<bool> folded(axes.size(), false);
    for (int64_t dim : dims) {
      if (dim < 0 || dim >= static_cast<int64_t>(axes.size()) || folded[static_cast<size_t>(dim)]) {
        return bug("attribute dims: expected distinct dims of " + type_text(kernel_, operand(0)) + ", got " +
                   std::to_string(dim));
      }
      folded[static_cast<size_t>(dim)] = true;
    }
    std::vector<AxisId> result;
    for (size_t i = 0; i < axes.size(); ++i) {
      if (!folded[i]) result.push_back(axes[i]);
      if (folded[i] && is_step) result.push_back(partial_axis(op_.results[0], i));
      if (folded[i] && !is_step && op_.int_attr("keepdim") != 0) result.push_back(kUnitAxis);
    }
    return check_tuple("result", op_.results, 0, result, is_step);
  }

  Status check_dim() const {
    const int64_t dim = op_.int_attr("dim", -1);
    if (dim < 0 || dim >= operand(0).rank()) {
      return bug("attribute dim: expected a dim of " + type_text(kernel_, operand(0)) + ", got " + std::to_string(dim));
    }
    const int64_t reverse = op_.int_attr("reverse");
    return reverse == 0 || reverse == 1 ? Status::ok() : bug("attribute reverse: expected 0 or 1");
  }

  Status check_scan() const {
    const bool totals = op_.int_attr("totals") != 0;
    KAON_RETURN_IF_ERROR(check_counts(size_, totals ? 2 * size_ + 1 : size_));
    KAON_RETURN_IF_ERROR(check_dim());
    std::vector<AxisId> axes = operand(0).axes;
    KAON_RETURN_IF_ERROR(check_tuple("operand", op_.operands, 0, axes, false));
    KAON_RETURN_IF_ERROR(check_tuple("result", op_.results, 0, axes, false));
    if (!totals) return Status::ok();
    axes[static_cast<size_t>(op_.int_attr("dim"))] = kUnitAxis;
    return check_tuple("total", op_.results, size_, axes, true);
  }

  Status check_scan_step() const {
    const bool first = op_.int_attr("first") != 0;
    KAON_RETURN_IF_ERROR(check_counts(first ? size_ : 2 * size_ + 2, 2 * size_ + 2));
    KAON_RETURN_IF_ERROR(check_dim());
    const auto dim = static_cast<size_t>(op_.int_attr("dim"));
    std::vector<AxisId> axes = operand(0).axes;
    KAON_RETURN_IF_ERROR(check_tuple("operand", op_.operands, 0, axes, !first));
    KAON_RETURN_IF_ERROR(check_tuple("result", op_.results, 0, axes, true));
    if (!first) {
      axes[dim] = partial_axis(op_.operands[size_ + 1], dim);
      KAON_RETURN_IF_ERROR(check_tuple("total", op_.operands, size_ + 1, axes, true));
    }
    axes[dim] = partial_axis(op_.results[size_ + 1], dim);
    return check_tuple("total", op_.results, size_ + 1, axes, true);
  }

  const Kernel& kernel_;
  const Op& op_;
  size_t size_;
};

}  // namespace

bool is_folding(OpKind kind) {
  return kind == OpKind::kFold || kind == OpKind::kFoldThread || kind == OpKind::kFoldLanes;
}

bool is_combining(OpKind kind) {
  return is_folding(kind) || kind == OpKind::kScan || kind == OpKind::kScanThread || kind == OpKind::kScanLanes;
}

size_t tuple_size(const Op& op) { return op.regions[0].args.size() / 2; }

bool may_combine(OpKind kind) {
  switch (kind) {
    case OpKind::kConst:
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kCast: return true;
    default: return false;
  }
}

Status check_combining(const Kernel& kernel, const Op& op) { return TupleRules(kernel, op).check(); }

Region copy_combine(Kernel& kernel, const Region& region) {
  Region copy;
  std::map<ValueId, ValueId> own;
  auto renew = [&](ValueId value) {
    const ValueInfo info = kernel.values[static_cast<size_t>(value)];
    const ValueId fresh = kernel.new_value(info.type, info.name);
    kernel.layout(fresh) = info.layout;
    own[value] = fresh;
    return fresh;
  };
  for (ValueId arg : region.args) copy.args.push_back(renew(arg));
  for (const auto& op : region.ops) {
    std::unique_ptr<Op> cloned = clone_op(*op);
    for (ValueId& operand : cloned->operands) operand = own[operand];
    for (ValueId& result : cloned->results) result = renew(result);
    copy.ops.push_back(std::move(cloned));
  }
  return copy;
}

std::vector<ValueId> combine_tiles(Builder& builder, const Region& combine, const std::vector<ValueId>& left,
                                   const std::vector<ValueId>& right) {
  Kernel& kernel = builder.kernel();
  const std::vector<AxisId> axes = kernel.type(left[0]).axes;
  const Layout layout = kernel.layout(left[0]);
  std::map<ValueId, ValueId> tiles;
  for (size_t i = 0; i < left.size(); ++i) {
    tiles[combine.args[i]] = left[i];
    tiles[combine.args[left.size() + i]] = right[i];
  }
  std::vector<ValueId> yields;
  for (const auto& op : combine.ops) {
    std::vector<ValueId> operands;
    for (ValueId operand : op->operands) operands.push_back(tiles[operand]);
    if (op->kind == OpKind::kYield) {
      yields = operands;
      continue;
    }
    Op& made = builder.insert(op->kind, std::move(operands));
    made.attrs = op->attrs;
    const ValueId result = builder.add_result(made, Type{kernel.type(op->result()).dtype, axes});
    kernel.layout(result) = layout;
    tiles[op->result()] = result;
  }
  return yields;
}

std::vector<ValueId> combine_valid_tiles(Builder& builder, const Region& combine, const std::vector<ValueId>& left,
                                         ValueId left_valid, const std::vector<ValueId>& right, ValueId right_valid) {
  Kernel& kernel = builder.kernel();
  const Layout layout = kernel.layout(left[0]);
  auto laid_out = [&](ValueId value) {
    kernel.layout(value) = layout;
    return value;
  };
  std::vector<ValueId> results = combine_tiles(builder, combine, left, right);
  for (size_t i = 0; i < results.size(); ++i) {
    const ValueId there = laid_out(builder.select(right_valid, results[i], left[i]));
    results[i] = laid_out(builder.select(left_valid, there, right[i]));
  }
  results.push_back(laid_out(builder.binary(BinaryFn::kOr, left_valid, right_valid)));
  return results;
}

}  // namespace kaon::compiler
