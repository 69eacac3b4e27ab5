// Which outermost tile loops of a kernel can become its launch grid.
#pragma once

#include <vector>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// The perfectly nested outermost tile loops, outermost first: between them stand only scalar ops that each program can
/// repeat, and nothing is carried from one tile to the next. Empty when the body is not one such nest.
struct GridNest {
  std::vector<const Op*> tiles;
  std::vector<AxisId> axes;  // of all the tiles, outermost first
};
GridNest find_grid_nest(const Kernel& kernel);

}  // namespace kaon::compiler
