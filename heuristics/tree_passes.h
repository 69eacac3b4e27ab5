// From a grown tree to the one that ships: what does not pay is pruned, equal leaves become one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "heuristics/fit_tree.h"
#include "runtime/base/tree.h"

namespace kaon::heuristics {

/// Collapses every subtree that lowers the mean cost by no more than `price_micro` per leaf it adds. While more than
/// `max_leaves` remain, the price is raised.
GrownTree prune(const GrownTree& grown, int64_t price_micro, int max_leaves);

/// The tree over only the features that it uses, in the vocabulary's order; splits between equal leaves are dropped
/// and equal leaves share an entry of `leaves`.
DecisionTree to_decision_tree(const GrownTree& grown, const std::vector<TreeFeature>& features);

/// The tree as indented text, one node per line; `variant_names[v]` is how leaves call variant v.
///   N <= 4096 (24 shapes)
///     leaf 0 (12 shapes): resident(2) > generic
std::string tree_text(const DecisionTree& tree, const std::vector<std::string>& variant_names);

}  // namespace kaon::heuristics
