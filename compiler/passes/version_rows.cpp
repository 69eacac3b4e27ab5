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

/// The grid's body again, along an axis `name` that stands for `row`; the config says by that name how it is walked.
Result<Version> make_version(Kernel& kernel, AxisId row, const Region& body, std::string name) {
  Axis axis = kernel.axis(row);
  axis.name = std::move(name);
  Version version;
  version.axis = kernel.new_axis(std::move(axis));
  version.body = RegionCopier(kernel, row, version.axis).copy(body);
  return version;
}

/// As much as `repetitions` of the row hold.
Result<int64_t> capacity_of(const Kernel& kernel, AxisId row, int64_t repetitions) {
  Config config = kernel.config;
  config.set("reduce." + kernel.axis(row).name, "resident(" + std::to_string(repetitions) + ")");
  KAON_ASSIGN_OR_RETURN(const TilePlan plan, plan_tiles(kernel, find_axis_sets(kernel), config));
  return plan.blocks.at(row);
}

/// Asks for the versions in this order, and runs `rest` when none fits.
void branch_on_extent(Kernel& kernel, AxisId row, std::vector<Version> versions, Region rest, Region* place) {
  const SourceRange range = rest.ops.empty() ? SourceRange() : rest.ops.front()->range;
  for (Version& version : versions) {
    Builder builder(kernel, *place);
    builder.set_range(range);
    const ValueId extent = builder.expr(kernel.axis(row).extent);
    const ValueId fits = builder.compare(CompareFn::kLe, extent, builder.int_const(DType::kI64, version.capacity));
    Op& branch = builder.begin_if(fits);
    branch.regions[0] = std::move(version.body);
    place = &branch.regions[1];
  }
  *place = std::move(rest);
}

Status version_row(Kernel& kernel, AxisId row, int64_t repetitions) {
  const Axis axis = kernel.axis(row);
  const bool loops = loops_longer(kernel.config, axis);
  const std::vector<int64_t> counts =
      version_repetitions(repetitions, kernel.config.get_int("versions." + axis.name, 1));
  if (counts.size() == 1 && !loops) return Status::ok();
  std::vector<int64_t> capacities;
  for (const int64_t count : counts) {
    KAON_ASSIGN_OR_RETURN(const int64_t capacity, capacity_of(kernel, row, count));
    capacities.push_back(capacity);
  }
  Region& grid = kernel.body.ops.back()->regions[0];
  std::vector<Version> versions;
  // The shortest is asked for first: its blocks have the least to do besides.
  for (size_t i = counts.size(); i-- > 1;) {
    KAON_ASSIGN_OR_RETURN(Version version, make_version(kernel, row, grid, version_name(axis.name, i)));
    kernel.axis(version.axis).block = capacities[i];
    version.capacity = usable_capacity(kernel.config, axis, capacities[i]);
    versions.push_back(std::move(version));
  }
  Region rest;
  if (loops) {
    KAON_ASSIGN_OR_RETURN(Version loop, make_version(kernel, row, grid, loop_version_name(axis.name)));
    KAON_ASSIGN_OR_RETURN(kernel.axis(loop.axis).block, capacity_of(kernel, row, loop_repetitions(repetitions)));
    rest = std::move(loop.body);
    versions.push_back({row, usable_capacity(kernel.config, axis, capacities[0]), std::move(grid)});
  } else {
    rest = std::move(grid);
  }
  grid = Region();
  branch_on_extent(kernel, row, std::move(versions), std::move(rest), &grid);
  return Status::ok();
}

}  // namespace

Status version_rows(Kernel& kernel, const Target&) {
  const auto num_axes = static_cast<AxisId>(kernel.axes.size());
  for (AxisId id = 0; id < num_axes; ++id) {
    const Axis axis = kernel.axis(id);
    if (!kernel.config.find("reduce." + axis.name) || !can_version(kernel, id)) continue;
    KAON_ASSIGN_OR_RETURN(const RowPlan row, row_knob(kernel.config, axis));
    if (row.resident) return version_row(kernel, id, row.repetitions);
  }
  return Status::ok();
}

}  // namespace kaon::compiler
