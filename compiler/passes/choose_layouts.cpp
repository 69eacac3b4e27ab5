// One layout per value, from the plan of its set of axes.
#include "compiler/passes/choose_layouts.h"

#include "compiler/config/tile_plan.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

/// By value: whether an op or a region still defines it.
std::vector<bool> defined_values(const Kernel& kernel) {
  std::vector<bool> defined(kernel.values.size(), false);
  const auto mark = [&](const std::vector<ValueId>& values) {
    for (const ValueId value : values) defined[static_cast<size_t>(value)] = true;
  };
  mark(kernel.scalar_params);
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    mark(op.results);
    for (const Region& region : op.regions) mark(region.args);
  });
  return defined;
}

}  // namespace

Status choose_layouts(Kernel& kernel, const Target&) {
  const std::vector<AxisSet> sets = find_axis_sets(kernel);
  KAON_ASSIGN_OR_RETURN(const TilePlan plan, plan_tiles(kernel, sets, kernel.config));
  const std::vector<bool> defined = defined_values(kernel);
  for (size_t i = 0; i < kernel.values.size(); ++i) {
    ValueInfo& value = kernel.values[i];
    // Values of dead ops had no say in which axes share threads, and may have several on the same.
    const int set = defined[i] ? home_set(sets, value.type.axes) : -1;
    if (set >= 0) {
      value.layout = plan.layout(static_cast<size_t>(set), value.type.axes);
    } else {
      value.layout = Layout(std::vector<std::vector<Digit>>(value.type.axes.size()), plan.num_warps);
    }
    const std::string why = value.layout.why_illegal();
    if (!why.empty()) return Status(Code::kInternal, "choose_layouts: " + value.layout.to_string() + ": " + why);
  }
  kernel.stage = Stage::kLaidOut;
  return Status::ok();
}

}  // namespace kaon::compiler
