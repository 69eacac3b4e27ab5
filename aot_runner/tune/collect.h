// From cells in a store to the heuristics' measurement table.
#pragma once

#include <vector>

#include "aot_runner/tune/session.h"
#include "aot_runner/tune/sweep.h"
#include "heuristics/table.h"

namespace kaon::runner {

/// The table of one dtype binding: `finalists` that compiled, in order, over the train, measure and held-out sets; pass
/// 0 whole, pass 1 where it was measured. kNotFound when no final config was timed right on any shape, with the
/// commonest reason; kInternal when a cell that must be there is missing.
Result<heuristics::Table> collect_table(const Session& session, const BoundKernel& binding, const ShapesSpec& spec,
                                        const Sweep& sweep, const std::vector<Config>& finalists,
                                        const Config& default_config, const Config& generic_config);

/// Everything around the tables. `seconds` is the stored cost of the run.
heuristics::Measurements collect_measurements(const Session& session, std::vector<heuristics::Table> tables,
                                              double seconds);

/// Bits of each scalar parameter as slots carry them; parameters that the shapes file does not give are 1.
std::vector<int64_t> scalar_bits(const Signature& signature, const std::map<std::string, double>& values);

}  // namespace kaon::runner
