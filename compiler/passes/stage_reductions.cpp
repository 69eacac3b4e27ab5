// Taking reductions and conversions apart.
#include "compiler/passes/stage_reductions.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "compiler/ir/builder.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/partials.h"
#include "compiler/passes/stage_dots.h"
#include "compiler/passes/stage_tuples.h"
#include "compiler/passes/stage_views.h"
#include "compiler/passes/through_shared.h"

namespace kaon::compiler {

namespace {

class Stager {
 public:
  explicit Stager(Kernel& kernel) : kernel_(kernel), axes_(kernel), uses_(count_uses(kernel)) {}

  const Status& status() const { return status_; }

  void run(Region* region) {
    std::vector<std::unique_ptr<Op>> old = std::move(region->ops);
    region->ops.clear();
    SharedTiles tiles;
    for (auto& op : old) {
      for (Region& inner : op->regions) run(&inner);
      if (op->kind == OpKind::kReduce) {
        stage_reduce(*region, *op);
      } else if (op->kind == OpKind::kDot) {
        stage_dot(kernel_, *region, *op);
      } else if (op->kind == OpKind::kFold) {
        stage_fold(kernel_, axes_, *region, *op);
      } else if (op->kind == OpKind::kScan) {
        stage_scan(kernel_, axes_, *region, *op);
      } else if (op->kind == OpKind::kConvert) {
        Builder builder(kernel_, *region);
        builder.set_range(op->range);
        through_shared(builder, op->operands[0], {kernel_.type(op->result()), kernel_.layout(op->result())}, "convert");
        rename_last(*region, op->result());
      } else if (is_moving_view(op->kind)) {
        Builder builder(kernel_, *region);
        builder.set_range(op->range);
        const Result<ValueId> staged = stage_view(builder, *op, &tiles);
        if (!staged) {
          status_ = staged.status();
          return;
        }
        rename_last(*region, op->result());
      } else if (op->kind == OpKind::kAtomic && has_replicas(op->result()) &&
                 uses_[static_cast<size_t>(op->result())] > 0) {
        spread_old_values(*region, std::move(op));
      } else {
        region->ops.push_back(std::move(op));
      }
    }
  }

 private:
  bool has_digits(ValueId value, const std::vector<int64_t>& dims, Where where) const {
    for (const int64_t dim : dims) {
      for (const Digit& digit : kernel_.layout(value).digits(static_cast<int>(dim))) {
        if (digit.where == where) return true;
      }
    }
    return false;
  }

  bool are_units(ValueId value, const std::vector<int64_t>& dims) const {
    const std::vector<AxisId>& axes = kernel_.type(value).axes;
    return std::all_of(dims.begin(), dims.end(),
                       [&](int64_t dim) { return axes[static_cast<size_t>(dim)] == kUnitAxis; });
  }

  /// Partial results are complete by construction; other axes may lack lanes, which only reduce_thread leaves out.
  bool may_lack_lanes(ValueId value, const std::vector<int64_t>& dims) const {
    for (const int64_t dim : dims) {
      const AxisId axis = kernel_.type(value).axes[static_cast<size_t>(dim)];
      if (axis == kUnitAxis) continue;
      int64_t extent = 0;
      const Axis& a = kernel_.axis(axis);
      if (a.kind != AxisKind::kStatic || !a.extent.is_constant(&extent) || extent < a.block) return true;
    }
    return false;
  }

  void stage_reduce(Region& region, const Op& op) {
    Builder builder(kernel_, region);
    builder.set_range(op.range);
    ReduceFn fn = ReduceFn::kSum;
    parse_fn(op.str_attr("fn"), &fn);
    std::vector<int64_t> dims = op.ints_attr("dims");
    ValueId value = op.operands[0];
    const bool is_across = has_digits(value, dims, Where::kLane) || has_digits(value, dims, Where::kWarp);
    // An axis of one lane has no digits and lacks no lanes, but only a fold makes it a unit.
    const bool is_one_lane = !is_across && !are_units(value, dims);
    if (has_digits(value, dims, Where::kRegister) || may_lack_lanes(value, dims) || is_one_lane)
      value = fold_thread(builder, fn, value, dims);
    if (has_digits(value, dims, Where::kLane)) value = fold_lanes(builder, fn, value, dims);
    if (has_digits(value, dims, Where::kWarp)) {
      const bool by_lanes = folds_by_lanes(value, dims);
      value =
          through_shared(builder, value, gathered(value, dims, by_lanes ? Where::kLane : Where::kRegister), "partials");
      value = by_lanes ? fold_lanes(builder, fn, value, dims) : fold_thread(builder, fn, value, dims);
    }
    if (op.int_attr("keepdim") == 0) {
      std::sort(dims.rbegin(), dims.rend());
      for (const int64_t dim : dims) {
        const Layout layout = kernel_.layout(value).squeeze(static_cast<int>(dim));
        value = builder.squeeze(value, static_cast<int>(dim));
        kernel_.layout(value) = layout;
      }
    }
    if (value == op.operands[0]) {
      // Nothing to fold: one position per dim already, and the axes are units.
      replaced_.push_back({op.result(), value});
      return;
    }
    rename_last(region, op.result());
  }

  bool has_replicas(ValueId value) const {
    uint64_t threads = 1;
    const Layout& layout = kernel_.layout(value);
    for (int dim = 0; dim < layout.rank(); ++dim) {
      for (const Digit& digit : layout.digits(dim)) threads *= digit.where == Where::kRegister ? 1 : digit.radix;
    }
    return threads < static_cast<uint64_t>(kernel_.num_warps) * 32;
  }

  /// Only the owner of an element does its atomic; it tells the others what it found.
  void spread_old_values(Region& region, std::unique_ptr<Op> op) {
    const ValueId result = op->result();
    const ValueInfo info = kernel_.values[static_cast<size_t>(result)];
    const ValueId owned = kernel_.new_value(info.type);
    kernel_.layout(owned) = info.layout;
    op->results = {owned};
    const SourceRange range = op->range;
    region.ops.push_back(std::move(op));
    Builder builder(kernel_, region);
    builder.set_range(range);
    through_shared(builder, owned, {info.type, info.layout}, "old");
    rename_last(region, result);
  }

  ValueId fold_thread(Builder& builder, ReduceFn fn, ValueId value, const std::vector<int64_t>& dims) {
    const PartialTile tile = axes_.fold(value, dims, Where::kRegister);
    return builder.reduce_thread(fn, value, dims, tile.type, tile.layout);
  }

  ValueId fold_lanes(Builder& builder, ReduceFn fn, ValueId value, const std::vector<int64_t>& dims) {
    const PartialTile tile = axes_.fold(value, dims, Where::kLane);
    return builder.reduce_lanes(fn, value, dims, tile.type, tile.layout);
  }

  /// Whether the partial results of the warps are better read one per lane and folded by shuffles than all by every
  /// thread: from eight warps on the reads would outnumber the shuffles, all on the same pipe.
  bool folds_by_lanes(ValueId value, const std::vector<int64_t>& dims) const {
    const Layout& layout = kernel_.layout(value);
    uint64_t partials = 1;
    for (const int64_t dim : dims) partials *= layout.capacity(static_cast<int>(dim));
    bool lanes_are_free = true;
    for (int dim = 0; dim < layout.rank(); ++dim) {
      for (const Digit& digit : layout.digits(dim)) lanes_are_free = lanes_are_free && digit.where != Where::kLane;
    }
    return lanes_are_free && partials >= 8 && partials <= 32 && (partials & (partials - 1)) == 0;
  }

  /// The same tile with the warp digits of `dims` in registers or lanes of every warp.
  PartialTile gathered(ValueId value, const std::vector<int64_t>& dims, Where where) {
    PartialTile out{kernel_.type(value), Layout()};
    const Layout layout = kernel_.layout(value);
    std::vector<std::vector<Digit>> digits;
    uint32_t unit = where == Where::kLane ? 1 : layout.num_registers();
    for (int dim = 0; dim < layout.rank(); ++dim) {
      digits.push_back(layout.digits(dim));
      if (std::find(dims.begin(), dims.end(), dim) == dims.end() || digits.back().empty()) continue;
      const auto count = static_cast<uint32_t>(layout.capacity(dim));
      digits.back() = {{count, where, unit}};
      unit *= count;
    }
    out.layout = Layout(std::move(digits), layout.num_warps(), layout.num_blocks());
    return out;
  }

  /// The op just made defines `result` instead of its own value.
  static void rename_last(Region& region, ValueId result) { region.ops.back()->results[0] = result; }

 public:
  std::vector<std::pair<ValueId, ValueId>> replaced_;

 private:
  Kernel& kernel_;
  PartialAxes axes_;
  Status status_;
  std::vector<int> uses_;
};

}  // namespace

Status stage_reductions(Kernel& kernel, const Target&) {
  kernel.stage = Stage::kStaged;
  Stager stager(kernel);
  stager.run(&kernel.body);
  if (!stager.status()) return stager.status();
  for (const auto& [from, to] : stager.replaced_) replace_uses(kernel, from, to);
  return Status::ok();
}

}  // namespace kaon::compiler
