// Adding a guard once, whoever asks for it.
#pragma once

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// Appends `guard` unless the kernel has it, or one that implies it: a multiple to divide by, a lower limit.
void add_guard(Kernel& kernel, const Guard& guard);

}  // namespace kaon::compiler
