// Which axes of a kernel share one tile, and along which of them memory is contiguous.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/config/axis_links.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// A maximal set of axes that occur together in some value: its threads are dealt out to these axes. The axes of
/// every value lie in at least one set, by themselves or by the root that views link them to.
struct AxisSet {
  std::vector<AxisId> axes;                // roots, outermost first, as in the value that the set was found in
  AxisId inner = kUnitAxis;                // along which most accesses are contiguous; one of axes
  uint32_t narrowest_bytes = 0;            // of the elements accessed along inner; 0 when nothing is
  uint32_t widest_bytes = 0;               // of the elements of any value that has all the axes
  std::shared_ptr<const AxisLinks> links;  // of the kernel, the same in every set
};

/// Largest sets first, then in program order. Axes of partial results are left out.
std::vector<AxisSet> find_axis_sets(const Kernel& kernel);

/// The sets' member that a value with these axes belongs to: the first that has them all. -1 for a scalar.
int home_set(const std::vector<AxisSet>& sets, const std::vector<AxisId>& axes);

/// `scale * slot + offset` with scale > 0: what a guard can bound or divide. A constant has slot -1 and scale 0.
struct LinearExpr {
  int slot = -1;
  int64_t scale = 0;
  int64_t offset = 0;
  bool is_constant() const { return slot < 0; }
};
/// Nothing when `expr` is not of that form.
std::optional<LinearExpr> linear_form(const Expr& expr);

/// Constant extents up to this are laid out whole, without a knob: head dims, chunks of a row.
constexpr int64_t kMaxStaticExtent = 4096;

/// The axis's number of coordinates if it is a small constant, else 0.
int64_t static_extent(const Axis& axis);

/// Whether a loop or branch carries values along the axis, so that no loop can walk it chunk by chunk.
bool is_carried(const Kernel& kernel, AxisId axis);

/// True for an axis that has a `reduce.` knob: a whole dimension that is not small and constant.
bool is_row_axis(const Axis& axis);

}  // namespace kaon::compiler
