// Which scalars of a kernel the host knows before a launch.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/host_int.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// What `value` is: a constant, an expression over the call, or a sum of such. Empty for no value and for what is
/// computed on the device. `definitions` are those of defining_ops().
std::optional<HostInt> host_value(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId value);

}  // namespace kaon::compiler
