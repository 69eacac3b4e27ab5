// One layout per value, from the plan of its set of axes.
#include "compiler/passes/choose_layouts.h"

#include "compiler/config/tile_plan.h"

namespace kaon::compiler {

Status choose_layouts(Kernel& kernel, const Target&) {
  const std::vector<AxisSet> sets = find_axis_sets(kernel);
  KAON_ASSIGN_OR_RETURN(const TilePlan plan, plan_tiles(kernel, sets, kernel.config));
  for (ValueInfo& value : kernel.values) {
    const int set = home_set(sets, value.type.axes);
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
