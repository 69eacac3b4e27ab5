// Finding loops before there are any: tiles that are no part of the grid, and rows that are walked in chunks.
#include "compiler/config/loop_schedule.h"

#include <algorithm>

#include "compiler/config/grid_nest.h"
#include "compiler/config/row_versions.h"
#include "compiler/ir/fetch_ahead.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

bool has(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

bool is_chunked(const Kernel& kernel, const Config& config, AxisId axis) {
  if (!is_row_axis(kernel.axis(axis))) return false;
  const Result<RowPlan> row = row_knob(config, kernel.axis(axis));
  return row && (!row->resident || loops_longer(config, kernel.axis(axis)));
}

/// The part of the grid nest's axes that are loops, by `depth` (0: the nest has no such knob, and is all grid).
bool is_in_grid(const GridNest& nest, int64_t depth, AxisId axis) {
  const auto found = std::find(nest.axes.begin(), nest.axes.end(), axis);
  return found != nest.axes.end() && (depth == 0 || found - nest.axes.begin() < depth);
}

/// Along a row axis: whether what the load needs of it is computed from coordinates alone.
bool waits_along(const Kernel& kernel, const std::vector<const Op*>& definitions, const Op& op, AxisId axis) {
  return std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId operand) {
    const Op* definition = definitions[static_cast<size_t>(operand)];
    if (!has(kernel.type(operand).axes, axis)) return false;
    return definition == nullptr || !can_repeat(definition->kind) ||
           waits_along(kernel, definitions, *definition, axis);
  });
}

std::vector<AheadLoop> find_loops(const Kernel& kernel, const std::vector<AxisId>& rows, int64_t depth) {
  std::vector<AheadLoop> loops;
  const std::vector<const Op*> definitions = defining_ops(kernel);
  const auto add = [&](AheadLoop loop) {
    if (!loop.loads.empty()) loops.push_back(std::move(loop));
  };
  for (const AxisId row : rows) {
    AheadLoop loop{row, {}};
    walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
      if (op.kind != OpKind::kLoad || !has(kernel.type(op.result()).axes, row)) return;
      const bool is_ready = is_never_written(kernel, op.int_attr("tensor"));
      if (is_ready && !waits_along(kernel, definitions, op, row)) loop.loads.push_back(&op);
    });
    add(std::move(loop));
  }
  const GridNest nest = find_grid_nest(kernel);
  walk(kernel.body, [&](const Op& tile, const ConstOpPlace&) {
    if (tile.kind != OpKind::kTile || !is_innermost(tile)) return;
    AheadLoop loop{static_cast<AxisId>(tile.ints_attr("axes").back()), {}};
    if (is_in_grid(nest, depth, loop.axis)) return;
    bool holds_loop = false;
    walk(tile.regions[0], [&](const Op& op, const ConstOpPlace&) {
      for (const ValueId result : op.results) {
        for (const AxisId row : rows) holds_loop = holds_loop || has(kernel.type(result).axes, row);
      }
    });
    for (const auto& op : tile.regions[0].ops) {
      if (!holds_loop && !fetch_slice(kernel, tile, *op).empty()) loop.loads.push_back(op.get());
    }
    add(std::move(loop));
  });
  return loops;
}

/// Registers of a thread that hold what the loop's loads give in one turn.
uint64_t registers_in_flight(const Kernel& kernel, const TilePlan& plan, const AheadLoop& loop, int64_t vec) {
  uint64_t sum = 0;
  for (const Op* load : loop.loads) {
    const Type& type = kernel.type(load->result());
    const int set = home_set(plan.sets, type.axes);
    const uint64_t elements = set < 0 ? 1 : plan.layout(static_cast<size_t>(set), type.axes).num_registers();
    const auto bytes = static_cast<uint64_t>(dtype_bytes(type.dtype));
    sum += vec > 1 ? (elements * bytes + 3) / 4 : elements * std::max<uint64_t>(1, bytes / 4);
  }
  return sum;
}

}  // namespace

std::vector<AxisId> loop_axes(const Kernel& kernel, const std::vector<AxisSet>& sets) {
  std::vector<AxisId> axes;
  const GridNest nest = find_grid_nest(kernel);
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind != OpKind::kTile) return;
    for (const int64_t id : op.ints_attr("axes")) {
      const auto axis = static_cast<AxisId>(id);
      if (nest.axes.empty() || axis != nest.axes[0]) axes.push_back(axis);
    }
  });
  for (const AxisSet& set : sets) {
    for (const AxisId axis : set.axes) {
      if (is_row_axis(kernel.axis(axis)) && !has(axes, axis)) axes.push_back(axis);
    }
  }
  return axes;
}

bool is_looped(const Kernel& kernel, const Config& config, AxisId axis) {
  if (kernel.axis(axis).kind != AxisKind::kTile) return is_chunked(kernel, config, axis);
  return !is_in_grid(find_grid_nest(kernel), config.get_int("grid.depth", 0), axis);
}

std::vector<AheadLoop> ahead_loops(const Kernel& kernel, const std::vector<AxisId>& axes, const Config& config) {
  std::vector<AxisId> rows;
  for (const AxisId axis : axes) {
    if (is_chunked(kernel, config, axis)) rows.push_back(axis);
  }
  return find_loops(kernel, rows, config.get_int("grid.depth", 0));
}

std::vector<AheadLoop> possible_ahead_loops(const Kernel& kernel, const std::vector<AxisId>& axes) {
  std::vector<AxisId> rows;
  for (const AxisId axis : axes) {
    if (is_row_axis(kernel.axis(axis)) && !is_carried(kernel, axis)) rows.push_back(axis);
  }
  std::vector<AheadLoop> loops = find_loops(kernel, rows, 1);
  for (AheadLoop& loop : find_loops(kernel, {}, 1)) {
    const auto same = [&](const AheadLoop& other) { return other.axis == loop.axis; };
    if (std::none_of(loops.begin(), loops.end(), same)) loops.push_back(std::move(loop));
  }
  return loops;
}

std::string why_illegal_schedule(const Kernel& kernel, const std::vector<AxisSet>& sets,
                                 const std::vector<AxisId>& axes, const Config& config, uint64_t most,
                                 uint64_t others) {
  const Result<int64_t> stages =
      config.find("num_stages") == nullptr ? Result<int64_t>(1) : int_knob(config, "num_stages", 1, kMaxStages);
  if (!stages) return stages.status().message();
  for (const AxisId axis : axes) {
    const std::string knob = "unroll." + kernel.axis(axis).name;
    if (config.find(knob) == nullptr) continue;
    const Result<int64_t> turns = int_knob(config, knob, 1, kMaxUnroll);
    if (!turns) return turns.status().message();
  }
  if (*stages == 1) return {};
  const Result<TilePlan> plan = plan_tiles(kernel, sets, config);
  if (!plan) return plan.status().message();
  for (const AheadLoop& loop : ahead_loops(kernel, axes, config)) {
    const std::string& name = kernel.axis(loop.axis).name;
    const std::string shown = "num_stages=" + std::to_string(*stages);
    if (config.get_int("unroll." + name, 1) > 1) {
      return "unroll." + name + "=" + config.get("unroll." + name, "") + ": " + shown +
             " repeats the body of the loop over " + name + " already, once for each stage";
    }
    // A loop for rows that exceed the capacity holds half of it.
    const uint64_t part = config.get("reduce." + name, "").rfind("resident", 0) == 0 ? 2 : 1;
    const uint64_t in_flight = (part - 1 + registers_in_flight(kernel, *plan, loop, config.get_int("vec", 1))) / part;
    const auto ahead = static_cast<uint64_t>(*stages - 1);
    uint64_t tile = 0;
    for (size_t i = 0; i < plan->sets.size(); ++i) {
      const uint64_t bytes = std::max<uint32_t>(4, plan->sets[i].widest_bytes);
      if (has(plan->sets[i].axes, loop.axis)) tile = std::max(tile, plan->shares[i].registers * bytes / 4);
    }
    const uint64_t registers = ahead * in_flight + tile / part + others;
    if (registers <= most) continue;
    return shown + ": " + std::to_string(ahead) + " turns of the loop over " + name + " with " +
           std::to_string(in_flight) + " registers in flight each need about " + std::to_string(registers) +
           " registers, at " + std::to_string(plan->num_warps / plan->cluster * 32) + " threads there are " +
           std::to_string(most);
  }
  return {};
}

}  // namespace kaon::compiler
