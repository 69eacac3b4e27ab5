// Descending through perfectly nested tiles.
#include "compiler/config/grid_nest.h"

#include <cstddef>

#include "compiler/ir/updates.h"

namespace kaon::compiler {

namespace {

bool is_repeatable(const Kernel& kernel, const Op& op) {
  if (!op_info(op.kind).pure || op.kind == OpKind::kLoad) return false;
  for (const ValueId result : op.results) {
    if (!kernel.type(result).is_scalar()) return false;
  }
  return true;
}

/// The one tile of a region that holds nothing else of weight, or null. Outside of every tile any pure op may stand:
/// the programs must repeat it anyway.
const Op* only_tile(const Kernel& kernel, const Region& region) {
  const bool outermost = &region == &kernel.body;
  const Op* tile = nullptr;
  for (const auto& op : region.ops) {
    if (op->kind == OpKind::kTile && op->operands.empty() && tile == nullptr) {
      tile = op.get();
    } else if (outermost ? !op_info(op->kind).pure : !is_repeatable(kernel, *op)) {
      return nullptr;
    }
  }
  return tile;
}

}  // namespace

GridNest find_grid_nest(const Kernel& kernel) {
  GridNest nest;
  const Region* region = &kernel.body;
  while (const Op* tile = only_tile(kernel, *region)) {
    // A bound that is data is only known inside the grid.
    for (const int64_t axis : tile->ints_attr("axes")) {
      const Axis& a = kernel.axis(static_cast<AxisId>(axis));
      if (a.begin_value != kNoValue || a.extent_value != kNoValue) return nest;
      // What tiles of this axis update together, they update in order.
      if (!nest.tiles.empty() && !updates_are_apart(kernel, tile->regions[0], static_cast<AxisId>(axis))) return nest;
    }
    nest.tiles.push_back(tile);
    for (const int64_t axis : tile->ints_attr("axes")) nest.axes.push_back(static_cast<AxisId>(axis));
    region = &tile->regions[0];
  }
  return nest;
}

}  // namespace kaon::compiler
