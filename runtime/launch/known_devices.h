// The facts of chips that are not at hand, for questions about them: what would serve there?
#pragma once

#include "runtime/launch/backend.h"

namespace kaon {

/// Facts of a chip by its compute capability (120 for sm_120), as its data sheet has them; number of processors and
/// name are those of one typical product. Null for a chip that is not known.
const DeviceFacts* known_device(int sm);

}  // namespace kaon
