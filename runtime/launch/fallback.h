// What the log says when a kernel's calls are served worse than a tuned table would: the reason and the mend.
#pragma once

#include <string>

#include "runtime/launch/resolved.h"

namespace kaon {

/// The line for a call that `candidate` of `table` served; empty when the match is nothing to tell.
std::string fallback_line(const ResolvedTable& table, const Candidate& candidate, Match match, int leaf,
                          const int64_t* slots);

}  // namespace kaon
