// The kernels of this folder with what was tuned for them: CMake lists the tables that are there.
#pragma once

#include "runtime/launch/kernel.h"

namespace kaon {

/// The kernel `name` with its tables, one per kind of hardware that it was tuned on. One that was tuned on none is known
/// by name, serves packs that the program loads, and says otherwise what is missing when it is called.
Kernel pretuned_kernel(const char* name);

}  // namespace kaon
