// Which few configs to ship: the smallest total regret over the fitted shapes, a price on each, hard constraints.
#pragma once

#include <cstdint>
#include <vector>

#include "heuristics/samples.h"

namespace kaon::heuristics {

struct SubsetOptions {
  int max_variants = 8;                // the generic config included
  int64_t variant_price_micro = 1500;  // a further variant must lower the mean cost by this much
};

/// Configs to keep, best first, the generic config last. Each shape costs what its cheapest kept config costs
/// (the generic one, kept in any case, serves what the others cannot; failed and refused cells serve nothing, cells
/// that were not measured at their bound, see CostTable). `predicted` shapes, over all configs, count with their
/// weights; a config that was never measured right is no candidate. See Cover::best() for exactness.
std::vector<int32_t> choose_subset(const Table& table, const CostTable& costs, const std::vector<int>& shapes,
                                   const std::vector<PredictedShape>& predicted, const CostModel& model,
                                   const SubsetOptions& options);

/// The one config with the smallest total cost, shapes that it cannot serve falling to the generic one.
int32_t best_single_config(const Table& table, const CostTable& costs, const std::vector<int>& shapes);

}  // namespace kaon::heuristics
