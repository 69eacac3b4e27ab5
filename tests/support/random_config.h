// A config drawn from all that are legal, without listing those.
#pragma once

#include <cstdint>
#include <random>

#include "compiler/config/config_space.h"

namespace kaon::compiler {

/// Legal and normalised; some with another `vec` than those that are searched.
inline Config random_config(const ConfigSpace& space, std::mt19937* random) {
  while (true) {
    Config config;
    for (const Knob& knob : space.knobs()) config.set(knob.name, knob.choices[(*random)() % knob.choices.size()]);
    if ((*random)() % 4 == 0) config.set("vec", int64_t{1} << ((*random)() % 4));
    if (space.why_illegal(config).empty()) return space.normalize(config);
  }
}

}  // namespace kaon::compiler
