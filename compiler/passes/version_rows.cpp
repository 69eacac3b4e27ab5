// Copying the body of a grid once for each capacity.
#include "compiler/passes/version_rows.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/config/row_versions.h"
#include "compiler/config/tile_plan.h"
#include "compiler/ir/builder.h"

namespace kaon::compiler {

namespace {

/// Copies regions with fresh values and one axis for another.
class RegionCopier {
 public:
  RegionCopier(Kernel& kernel, AxisId from, AxisId to) : kernel_(kernel), from_(from), to_(to) {}

  Region copy(const Region& region) {
    Region out;
    for (const ValueId arg : region.args) out.args.push_back(define(arg));
    for (const auto& op : region.ops) out.ops.push_back(copy_op(*op));
    return out;
  }

 private:
  std::unique_ptr<Op> copy_op(const Op& op) {
    auto out = std::make_unique<Op>();
    out->kind = op.kind;
    out->range = op.range;
    out->attrs = op.attrs;
    for (auto& [name, value] : out->attrs) replace_axis(name, &value);
    for (const ValueId operand : op.operands) {
      const auto known = values_.find(operand);
      out->operands.push_back(known == values_.end() ? operand : known->second);
    }
    for (const Region& region : op.regions) out->regions.push_back(copy(region));
    for (const ValueId result : op.results) out->results.push_back(define(result));
    return out;
  }

  ValueId define(ValueId value) {
    ValueInfo info = kernel_.values[static_cast<size_t>(value)];
    std::replace(info.type.axes.begin(), info.type.axes.end(), from_, to_);
    return values_[value] = kernel_.new_value(std::move(info.type), std::move(info.name));
  }

  void replace_axis(const std::string& name, Attr* attr) const {
    if (auto* indexers = std::get_if<std::vector<Indexer>>(attr)) {
      for (Indexer& indexer : *indexers) {
        if (indexer.axis == from_) indexer.axis = to_;
      }
    }
    auto* axes = std::get_if<std::vector<int64_t>>(attr);
    if (axes != nullptr && name == "axes") std::replace(axes->begin(), axes->end(), int64_t{from_}, int64_t{to_});
    auto* axis = std::get_if<int64_t>(attr);
    if (axis != nullptr && name == "axis" && *axis == from_) *axis = to_;
  }

  Kernel& kernel_;
  AxisId from_;
  AxisId to_;
  std::map<ValueId, ValueId> values_;
};

struct Version {
  AxisId axis = kUnitAxis;
  int64_t capacity = 0;  // of elements that a row may have
  Region body;
};

Result<Version> make_version(Kernel& kernel, AxisId row, const Region& body, int64_t repetitions, int64_t part) {
  Config config = kernel.config;
  const Axis original = kernel.axis(row);
  config.set("reduce." + original.name, "resident(" + std::to_string(repetitions) + ")");
  KAON_ASSIGN_OR_RETURN(const TilePlan plan, plan_tiles(kernel, find_axis_sets(kernel), config));
  Axis axis = original;
  axis.name = version_name(original.name, part);
  axis.block = plan.blocks.at(row);
  Version version;
  version.capacity = usable_capacity(kernel.config, original, axis.block);
  version.axis = kernel.new_axis(std::move(axis));
  version.body = RegionCopier(kernel, row, version.axis).copy(body);
  return version;
}

Status version_row(Kernel& kernel, AxisId row, int64_t repetitions, int64_t versions) {
  Region& grid = kernel.body.ops.back()->regions[0];
  std::vector<Version> shorter;
  const std::vector<int64_t> counts = version_repetitions(repetitions, versions);
  for (size_t i = 1; i < counts.size(); ++i) {
    KAON_ASSIGN_OR_RETURN(Version version, make_version(kernel, row, grid, counts[i], int64_t{1} << i));
    shorter.push_back(std::move(version));
  }
  Region body = std::move(grid);
  grid = Region();
  const SourceRange range = body.ops.empty() ? SourceRange() : body.ops.front()->range;
  // The shortest is asked for first: its blocks have the least to do besides.
  Region* place = &grid;
  for (size_t i = shorter.size(); i-- > 0;) {
    Builder builder(kernel, *place);
    builder.set_range(range);
    const ValueId extent = builder.expr(kernel.axis(row).extent);
    const ValueId fits =
        builder.compare(CompareFn::kLe, extent, builder.int_const(DType::kI64, shorter[i].capacity));
    Op& branch = builder.begin_if(fits);
    branch.regions[0] = std::move(shorter[i].body);
    place = &branch.regions[1];
  }
  *place = std::move(body);
  return Status::ok();
}

}  // namespace

Status version_rows(Kernel& kernel, const Target&) {
  const auto num_axes = static_cast<AxisId>(kernel.axes.size());
  for (AxisId id = 0; id < num_axes; ++id) {
    const Axis axis = kernel.axis(id);
    const int64_t versions = kernel.config.get_int("versions." + axis.name, 1);
    if (versions <= 1 || !can_version(kernel, id)) continue;
    KAON_ASSIGN_OR_RETURN(const RowPlan row, row_knob(kernel.config, axis));
    if (row.resident) return version_row(kernel, id, row.argument, versions);
  }
  return Status::ok();
}

}  // namespace kaon::compiler
