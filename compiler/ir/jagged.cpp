// Looking up the lengths of jagged axes.
#include "compiler/ir/jagged.h"

#include <algorithm>

namespace kaon::compiler {
namespace {

bool has(const std::vector<AxisId>& axes, AxisId axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

}  // namespace

const std::vector<AxisId>& parents_of(const Kernel& kernel, AxisId axis) {
  static const std::vector<AxisId> kNone;
  const ValueId lengths = axis == kUnitAxis ? kNoValue : kernel.axis(axis).lengths;
  return lengths == kNoValue ? kNone : kernel.type(lengths).axes;
}

bool is_cut_by_lengths(const Kernel& kernel, const std::vector<AxisId>& axes, AxisId axis) {
  const std::vector<AxisId>& parents = parents_of(kernel, axis);
  return !parents.empty() &&
         std::all_of(parents.begin(), parents.end(), [&](AxisId parent) { return has(axes, parent); });
}

AxisId axis_without_parent(const Kernel& kernel, const std::vector<AxisId>& axes, AxisId* parent) {
  for (AxisId axis : axes) {
    for (AxisId wanted : parents_of(kernel, axis)) {
      if (has(axes, wanted)) continue;
      *parent = wanted;
      return axis;
    }
  }
  return kUnitAxis;
}

}  // namespace kaon::compiler
