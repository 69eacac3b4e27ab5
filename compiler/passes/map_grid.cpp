// Outermost tiles become the launch grid, inner ones loops.
#include "compiler/passes/map_grid.h"

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "compiler/config/grid_nest.h"

namespace kaon::compiler {

namespace {

std::unique_ptr<Op> make_op(OpKind kind, SourceRange range) {
  auto op = std::make_unique<Op>();
  op->kind = kind;
  op->range = range;
  op->regions.resize(1);
  return op;
}

void append_ops(Region* to, Region* from) {
  to->ops.insert(to->ops.end(), std::make_move_iterator(from->ops.begin()), std::make_move_iterator(from->ops.end()));
  from->ops.clear();
}

/// Values of the same types, for the results or arguments of one more loop around.
std::vector<ValueId> fresh_values(Kernel& kernel, const std::vector<ValueId>& like) {
  std::vector<ValueId> out;
  for (const ValueId value : like) {
    Type type = kernel.type(value);
    std::string name = kernel.values[static_cast<size_t>(value)].name;
    out.push_back(kernel.new_value(std::move(type), std::move(name)));
  }
  return out;
}

/// Wraps `body`, whose arguments are the carried values, into loops over `axes`; the outermost gets `inits` and
/// `results`.
std::unique_ptr<Op> nest_loops(Kernel& kernel, const std::vector<int64_t>& axes, Region body,
                               std::vector<ValueId> inits, const std::vector<ValueId>& results, SourceRange range) {
  std::unique_ptr<Op> loop;
  for (size_t i = axes.size(); i-- > 0;) {
    if (loop) {
      Region outer;
      outer.args = fresh_values(kernel, loop->results);
      loop->operands = outer.args;
      const std::vector<ValueId> yielded = loop->results;
      outer.ops.push_back(std::move(loop));
      if (!yielded.empty()) {
        auto yield = std::make_unique<Op>();
        yield->kind = OpKind::kYield;
        yield->operands = yielded;
        yield->range = range;
        outer.ops.push_back(std::move(yield));
      }
      body = std::move(outer);
    }
    loop = make_op(OpKind::kLoop, range);
    loop->set_attr("axis", axes[i]);
    loop->regions[0] = std::move(body);
    loop->results = i == 0 ? results : fresh_values(kernel, results);
  }
  loop->operands = std::move(inits);
  return loop;
}

/// Every tile of the region tree becomes loops.
void tiles_to_loops(Kernel& kernel, Region* region) {
  for (auto& op : region->ops) {
    for (Region& inner : op->regions) tiles_to_loops(kernel, &inner);
    if (op->kind != OpKind::kTile) continue;
    op = nest_loops(kernel, op->ints_attr("axes"), std::move(op->regions[0]), op->operands, op->results, op->range);
  }
}

/// The nest's tiles taken apart: the ops between them and those of the innermost region, in order.
Region flatten_nest(Region body, size_t num_tiles) {
  Region flat;
  Region current = std::move(body);
  for (size_t depth = 0; depth < num_tiles; ++depth) {
    Region inner;
    for (auto& op : current.ops) {
      if (op->kind == OpKind::kTile) {
        inner = std::move(op->regions[0]);
      } else {
        flat.ops.push_back(std::move(op));
      }
    }
    current = std::move(inner);
  }
  append_ops(&flat, &current);
  return flat;
}

Expr tile_count(const Axis& axis) {
  const Expr count = ceil_div(axis.extent - axis.begin, Expr(axis.block));
  int64_t begin = 0;
  return axis.begin.is_constant(&begin) && begin == 0 ? count : max(count, Expr(0));
}

void fill_plan(Kernel& kernel, const std::vector<int64_t>& axes) {
  LaunchPlan& plan = kernel.plan;
  plan.steps.clear();
  for (size_t i = 0; i < kernel.signature.tensors.size(); ++i) {
    if (kernel.signature.tensors[i].is_zeroed) plan.steps.push_back({StepKind::kZero, static_cast<uint16_t>(i)});
  }
  plan.steps.push_back({StepKind::kKernel, 0});
  plan.programs = Expr(1);
  for (const int64_t axis : axes) plan.programs = plan.programs * tile_count(kernel.axis(static_cast<AxisId>(axis)));
  plan.programs = plan.programs * Expr(int64_t{plan.cluster});
  plan.threads = static_cast<uint32_t>(kernel.num_warps) / plan.cluster * 32;
}

}  // namespace

Status map_grid(Kernel& kernel, const Target&) {
  const GridNest nest = find_grid_nest(kernel);
  const size_t num_tiles = nest.tiles.size();
  if (num_tiles == 0) {
    return Status(Code::kUnsupported, "the outermost tile loop cannot be a launch grid: its bounds are data");
  }
  const SourceRange range = nest.tiles[0]->range;
  const auto depth = static_cast<size_t>(kernel.config.get_int("grid.depth", static_cast<int64_t>(nest.axes.size())));
  const auto split = nest.axes.begin() + static_cast<ptrdiff_t>(std::min(depth, nest.axes.size()));
  const std::vector<int64_t> grid_axes(nest.axes.begin(), split);
  const std::vector<int64_t> loop_axes(split, nest.axes.end());

  Region body = flatten_nest(std::move(kernel.body), num_tiles);
  tiles_to_loops(kernel, &body);
  if (!loop_axes.empty()) {
    auto loop = nest_loops(kernel, loop_axes, std::move(body), {}, {}, range);
    body = Region();
    body.ops.push_back(std::move(loop));
  }
  auto grid = make_op(OpKind::kGrid, range);
  grid->set_attr("axes", grid_axes);
  grid->regions[0] = std::move(body);
  kernel.body = Region();
  kernel.body.ops.push_back(std::move(grid));
  fill_plan(kernel, grid_axes);
  return Status::ok();
}

}  // namespace kaon::compiler
