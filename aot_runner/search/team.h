// Few configs for many shapes: which of those seen serve a whole sweep best together, and what may serve it better.
//
// Only a handful of variants ships. A search that looks for the fastest config of each shape ends with many
// specialists and no handful of them that covers the sweep; so this looks for configs as members of a team.
#pragma once

#include <vector>

#include "aot_runner/search/observations.h"
#include "aot_runner/search/space.h"
#include "aot_runner/search/strategy.h"

namespace kaon::runner {

/// At most `size` configs beside `always` that serve the shapes with the least weighted regret, a bad worst case
/// counting extra, as the distiller counts it. A config serves only shapes that it was timed on. `factors` multiply the
/// shapes' weights. In the order of Config.
std::vector<Config> best_team(const Observations& seen, const std::vector<Config>& always, size_t size,
                              const std::vector<double>& factors);

/// What to try next for a better team: variations of each member, fitted to the largest shape that it serves, on a few
/// of its shapes; and the fastest configs of badly served shapes on the shapes around. `count` variations a member.
std::vector<Ask> team_moves(const SearchSpace& space, const Observations& seen, const std::vector<Config>& team,
                            size_t count, bool fine, heuristics::Random* random);

/// Configs that keep up with the team where they were timed, but were not yet timed on `enough` shapes.
std::vector<Config> rising(const SearchSpace& space, const Observations& seen, const std::vector<Config>& team,
                           size_t count);

/// The configs to measure on every shape, at most `count`, `always` among them: teams for the shapes as they are and
/// with other weights, so that whoever chooses among them has a choice; then the fastest of single shapes, which are
/// what a team is judged by. In the order of Config.
std::vector<Config> final_field(const Observations& seen, const std::vector<Config>& always, size_t count,
                                size_t team_size, uint64_t seed);

}  // namespace kaon::runner
