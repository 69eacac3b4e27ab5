// Which configs a kernel is tried with: the two that always exist, and seeded random legal ones.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "compiler/config/config_space.h"

namespace kaon::compiler {

/// A legal config with each knob at a choice or, now and then, at another number, or an empty config after too many
/// illegal draws. With `max_warps` above 0 no block has more warps.
Config random_config(const ConfigSpace& space, uint64_t seed, int max_warps);

/// The default, the generic one, and `random` more for which `is_useful` holds; different from each other.
std::vector<Config> case_configs(const ConfigSpace& space, int random, uint64_t seed, int max_warps,
                                 const std::function<bool(const Config&)>& is_useful);

}  // namespace kaon::compiler
