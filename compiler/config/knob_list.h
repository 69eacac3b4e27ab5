// Which knobs a kernel has, with the choices that are worth a search.
#pragma once

#include <string>
#include <vector>

#include "compiler/config/axis_sets.h"
#include "compiler/config/config_space.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

struct KnobList {
  std::vector<Knob> knobs;
  size_t num_shape_knobs = 0;  // the first so many decide tiles and threads; the rest only access and addressing
};
KnobList list_knobs(const Kernel& kernel, const std::vector<AxisSet>& sets);

/// 16 bytes of the narrowest element that is accessed along an inner axis; 1 when there is none.
int64_t widest_vector(const std::vector<AxisSet>& sets);

/// The dim whose slot is the whole extent of `axis`, or -1.
int dim_of_axis(const Kernel& kernel, const Axis& axis);

}  // namespace kaon::compiler
