// What layouts the values of a laid-out or staged kernel must have.
#pragma once

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// A tile's own layout: legal, of its rank, of its axes' capacities, for the kernel's warps. `folded_dims` are
/// positions whose capacity is not that of the axis, since a step of a reduction has folded a part of it. Scalars need
/// none.
Status check_value_layout(const Kernel& kernel, ValueId value, const std::vector<int64_t>& folded_dims);

/// How the layouts of an op's operands and results belong together. Values must have passed check_value_layout.
Status check_op_layouts(const Kernel& kernel, const Op& op);

}  // namespace kaon::compiler
