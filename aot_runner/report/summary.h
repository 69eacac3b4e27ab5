// What a run says at its end: shares of the oracle, the tree, the files, what to do next.
#pragma once

#include <string>

#include "heuristics/distill.h"
#include "heuristics/table.h"

namespace kaon::runner {

/// The tree of one dtype binding as indented text, each leaf with its first variant and the shapes it serves.
std::string tree_text(const heuristics::Measurements& measurements, const heuristics::DistilledTable& table);

/// All bindings: a table of shapes, variants and shares of the oracle, variants by name, then the trees.
std::string report_text(const heuristics::Measurements& measurements, const heuristics::Distilled& distilled);

/// The path of one call through the tree, the guards tried, the variant and its evidence, its rivals on the nearest
/// measured shape. kInvalidArgument for dims that do not fit.
Result<std::string> explain_text(const heuristics::Measurements& measurements, const heuristics::Distilled& distilled,
                                 const std::string& dtypes, const std::vector<int64_t>& dims);

}  // namespace kaon::runner
