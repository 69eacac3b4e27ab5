// Comparing the layouts that ops have with those they need.
#include "compiler/passes/insert_conversions.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "compiler/ir/jagged.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

class Converter {
 public:
  explicit Converter(Kernel& kernel) : kernel_(kernel) {}

  /// Lengths of jagged axes are read with the values along them: where those lie elsewhere, a copy is made before the
  /// loop, for the axis to name.
  void convert_lengths(Region* region) {
    for (size_t i = 0; i < region->ops.size(); ++i) {
      for (Region& inner : region->ops[i]->regions) convert_lengths(&inner);
      if (region->ops[i]->kind != OpKind::kLoop) continue;
      const auto id = static_cast<AxisId>(region->ops[i]->int_attr("axis"));
      Axis& axis = kernel_.axis(id);
      if (axis.lengths == kNoValue) continue;
      const Layout wanted = lengths_layout(axis.lengths, id, region->ops[i]->regions[0]);
      if (wanted.empty() || wanted == kernel_.layout(axis.lengths)) continue;
      const ValueId copy = kernel_.new_value(Type(kernel_.type(axis.lengths)));
      kernel_.layout(copy) = wanted;
      region->ops.insert(region->ops.begin() + static_cast<ptrdiff_t>(i),
                         make_convert(axis.lengths, copy, region->ops[i]->range));
      axis.lengths = copy;
      ++i;
    }
  }

  void run(Region* region) {
    std::vector<std::unique_ptr<Op>> old = std::move(region->ops);
    region->ops.clear();
    for (auto& op : old) {
      for (Region& inner : op->regions) run(&inner);
      convert_operands(region, op.get());
      Op* placed = op.get();
      region->ops.push_back(std::move(op));
      if (placed->kind == OpKind::kReduce || placed->kind == OpKind::kFold) convert_results(region, placed);
    }
  }

 private:
  /// The layout in which `op` must read operand `i`, when its result has the layout that it has.
  Layout needed(const Op& op, size_t i) const {
    const Layout& own = kernel_.layout(op.operands[i]);
    switch (op.kind) {
      case OpKind::kUnary:
      case OpKind::kBinary:
      case OpKind::kCompare:
      case OpKind::kSelect:
      case OpKind::kRetile:
      case OpKind::kMerge:
      case OpKind::kCast: return kernel_.layout(op.result());
      case OpKind::kExpandDims: return kernel_.layout(op.result()).squeeze(static_cast<int>(op.int_attr("dim")));
      case OpKind::kSqueeze: return kernel_.layout(op.result()).expand_dims(static_cast<int>(op.int_attr("dim")));
      case OpKind::kBroadcast: return kernel_.layout(op.result()).drop(unit_dims(kernel_.type(op.operands[i])));
      case OpKind::kPermute: return kernel_.layout(op.result()).permute(inverse(op.ints_attr("perm")));
      case OpKind::kLoad: return indexed(kernel_.layout(op.result()), kernel_.type(op.result()), op.operands[i]);
      case OpKind::kAtomic: {
        const bool is_value = i < static_cast<size_t>(access_operands(op).first_index);
        const Layout& tile = kernel_.layout(op.result());
        return is_value ? tile : indexed(tile, kernel_.type(op.result()), op.operands[i]);
      }
      case OpKind::kStore: {
        const ValueId stored = op.operands[0];
        return i == 0 ? own : indexed(kernel_.layout(stored), kernel_.type(stored), op.operands[i]);
      }
      case OpKind::kDot: return i < 2 ? own : kernel_.layout(op.result());
      case OpKind::kFold: return kernel_.layout(op.operands[0]);  // one layout for the whole tuple
      case OpKind::kScan: return kernel_.layout(op.result());
      default: return own;
    }
  }

  static std::vector<int64_t> unit_dims(const Type& type) {
    std::vector<int64_t> dims;
    for (size_t i = 0; i < type.axes.size(); ++i) {
      if (type.axes[i] == kUnitAxis) dims.push_back(static_cast<int64_t>(i));
    }
    return dims;
  }

  static std::vector<int64_t> inverse(const std::vector<int64_t>& perm) {
    std::vector<int64_t> out(perm.size());
    for (size_t i = 0; i < perm.size(); ++i) out[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
    return out;
  }

  /// An index tile must lie with the tile that it addresses: its axes are some of that tile's, in any order.
  Layout indexed(const Layout& tile, const Type& tile_type, ValueId index) const {
    const std::vector<AxisId>& axes = kernel_.type(index).axes;
    std::vector<int64_t> dropped;
    for (size_t i = 0; i < tile_type.axes.size(); ++i) {
      if (std::find(axes.begin(), axes.end(), tile_type.axes[i]) == axes.end())
        dropped.push_back(static_cast<int64_t>(i));
    }
    const Layout kept = tile.drop(dropped);
    std::vector<std::vector<Digit>> digits(axes.size());
    for (size_t i = 0; i < axes.size(); ++i) {
      for (size_t j = 0; j < tile_type.axes.size(); ++j) {
        if (axes[i] != kUnitAxis && axes[i] == tile_type.axes[j]) digits[i] = kept.digits(static_cast<int>(j));
      }
    }
    return Layout(std::move(digits), tile.num_warps(), tile.num_blocks());
  }

  /// Where values that have the jagged axis and all that its lengths run over need those; empty when the loop's body has
  /// none.
  Layout lengths_layout(ValueId lengths, AxisId axis, const Region& body) const {
    ValueId along = kNoValue;
    const auto look = [&](ValueId value) {
      const auto& axes = kernel_.type(value).axes;
      const bool has_axis = std::find(axes.begin(), axes.end(), axis) != axes.end();
      if (along == kNoValue && has_axis && is_cut_by_lengths(kernel_, axes, axis)) along = value;
    };
    walk(body, [&](const Op& op, const ConstOpPlace&) {
      std::for_each(op.results.begin(), op.results.end(), look);
      for (const Region& region : op.regions) std::for_each(region.args.begin(), region.args.end(), look);
    });
    return along == kNoValue ? Layout() : indexed(kernel_.layout(along), kernel_.type(along), lengths);
  }

  void convert_operands(Region* region, Op* op) {
    for (size_t i = 0; i < op->operands.size(); ++i) {
      Layout wanted = needed(*op, i);
      if (wanted == kernel_.layout(op->operands[i])) continue;
      const ValueId converted = kernel_.new_value(Type(kernel_.type(op->operands[i])));
      kernel_.layout(converted) = std::move(wanted);
      append_convert(region, op->operands[i], converted, op->range);
      op->operands[i] = converted;
    }
  }

  /// A reduction leaves its results where the operand's other axes lie; users may expect them elsewhere.
  void convert_results(Region* region, Op* op) {
    std::vector<int64_t> dims = op->ints_attr("dims");
    Layout natural = kernel_.layout(op->operands[0]).drop(dims);
    std::sort(dims.rbegin(), dims.rend());
    for (const int64_t dim : dims) {
      if (op->int_attr("keepdim") == 0) natural = natural.squeeze(static_cast<int>(dim));
    }
    for (ValueId& slot : op->results) {
      const ValueId result = slot;
      if (natural == kernel_.layout(result)) continue;
      slot = kernel_.new_value(Type(kernel_.type(result)));
      kernel_.layout(slot) = natural;
      append_convert(region, slot, result, op->range);
    }
  }

  static void append_convert(Region* region, ValueId from, ValueId to, SourceRange range) {
    region->ops.push_back(make_convert(from, to, range));
  }

  static std::unique_ptr<Op> make_convert(ValueId from, ValueId to, SourceRange range) {
    auto convert = std::make_unique<Op>();
    convert->kind = OpKind::kConvert;
    convert->operands = {from};
    convert->results = {to};
    convert->range = range;
    return convert;
  }

  Kernel& kernel_;
};

}  // namespace

Status insert_conversions(Kernel& kernel, const Target&) {
  Converter converter(kernel);
  converter.run(&kernel.body);
  converter.convert_lengths(&kernel.body);
  return Status::ok();
}

}  // namespace kaon::compiler
