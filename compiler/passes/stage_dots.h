// One product of matrices taken apart: both operands go to shared memory, from which every thread reads what its part
// of the result needs.
#pragma once

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// Appends to `region` what stands for `op`, a dot; it defines the op's result.
void stage_dot(Kernel& kernel, Region& region, const Op& op);

}  // namespace kaon::compiler
