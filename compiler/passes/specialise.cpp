// Turning knobs into sizes.
#include "compiler/passes/specialise.h"

#include <algorithm>
#include <string>

#include "compiler/config/part_views.h"
#include "compiler/config/row_versions.h"
#include "compiler/config/tile_plan.h"
#include "compiler/ir/block_axis.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/guards.h"

namespace kaon::compiler {

namespace {

Status guard_capacity(Kernel& kernel, const Axis& axis) {
  const int64_t capacity = usable_capacity(kernel.config, axis, axis.block);
  const auto form = linear_form(axis.extent);
  if (axis.extent_value != kNoValue || !form) {
    return Status(Code::kIllegalConfig, "reduce." + axis.name + ": no guard can bound this extent; take chunk(c)");
  }
  const int64_t room = capacity - form->offset;
  if (room < 0) {
    return Status(Code::kIllegalConfig, "reduce." + axis.name + ": the extent is at least " +
                                            std::to_string(form->offset) + ", the capacity " +
                                            std::to_string(capacity));
  }
  if (!form->is_constant()) {
    add_guard(kernel, {GuardKind::kAtMost, static_cast<uint16_t>(form->slot), 0, room / form->scale});
  }
  return Status::ok();
}

}  // namespace

Status specialise(Kernel& kernel, const Target& target) {
  push_parts(kernel);
  erase_dead_ops(kernel);
  const std::vector<AxisSet> sets = find_axis_sets(kernel);
  KAON_ASSIGN_OR_RETURN(const TilePlan plan, plan_tiles(kernel, sets, kernel.config));
  kernel.num_warps = static_cast<int>(plan.num_warps);
  kernel.plan.cluster = target.is_host ? 1 : plan.cluster;
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    Axis& axis = kernel.axes[i];
    const auto block = plan.blocks.find(static_cast<AxisId>(i));
    const auto linked = plan.linked_blocks.find(static_cast<AxisId>(i));
    if (linked != plan.linked_blocks.end()) {
      axis.block = linked->second;
    } else if (block != plan.blocks.end()) {
      axis.block = block->second;
    } else if (axis.kind == AxisKind::kTile) {
      axis.block = axis.fixed_block > 0 ? axis.fixed_block : 1;  // only its begin is read
    }
    if (is_block(axis)) {
      axis.block = std::max<int64_t>(axis.block, 1);
      axis.extent = Expr(axis.block);
    }
    if (block == plan.blocks.end() || !is_row_axis(axis)) continue;
    KAON_ASSIGN_OR_RETURN(const RowPlan row, row_knob(kernel.config, axis));
    if (row.resident && !loops_longer(kernel.config, axis)) KAON_RETURN_IF_ERROR(guard_capacity(kernel, axis));
  }
  return Status::ok();
}

}  // namespace kaon::compiler
