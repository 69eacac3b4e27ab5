// The clearing step of a launch plan.
#pragma once

#include "runtime/launch/resolved.h"

namespace kaon {

/// Clears the elements of `tensor`, and no byte between them, on `stream`: one memset for a dense view, else one for
/// each dense run.
Status zero_tensor(const ResolvedTable& table, int tensor, const int64_t* slots, void* stream);

}  // namespace kaon
