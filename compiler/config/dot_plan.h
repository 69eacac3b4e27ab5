// What products of matrices ask of a config: which axes are theirs, and what their operands take in shared memory.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "compiler/config/tile_plan.h"
#include "compiler/ir/ir.h"
#include "compiler/target/target.h"

namespace kaon::compiler {

/// The roots of the axes of the matrices that some dot multiplies, leading axes left out.
struct DotAxes {
  std::set<AxisId> summed;
  std::set<AxisId> kept;  // of rows and columns of products
  bool has(AxisId axis) const { return summed.count(axis) > 0 || kept.count(axis) > 0; }
};
DotAxes find_dot_axes(const Kernel& kernel);

/// How an operand lies in shared memory: the axis of the last two along which a thread holds neighbours is contiguous,
/// and rows are an odd number of 16-byte pieces, so that eight rows begin in different banks.
struct DotBuffer {
  std::vector<int64_t> strides;  // in elements, 0 for unit axes
  uint64_t bytes = 0;
};
DotBuffer plan_dot_buffer(const Layout& layout, DType dtype);

/// Empty when every dot's tiles fit the registers of a thread, of which there are `most_registers`, and all of their
/// operands the block's shared memory; else the reason in numbers.
std::string why_illegal_dots(const Kernel& kernel, const TilePlan& plan, uint64_t most_registers, const Target& target);

}  // namespace kaon::compiler
