// A device as the language permits it: every op rounded at its type, sums in random order, math functions off by as
// much as math_error.h allows. What the oracle's bounds must cover.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/oracle/oracle.h"

namespace kaon::compiler {

/// Runs a kernel of the form that tests/support/random_kernel.h makes, all rows at once, and writes its outputs.
/// `tensors` are row-major.
void simulate(const Kernel& kernel, const std::vector<HostTensor>& tensors, uint64_t seed);

}  // namespace kaon::compiler
