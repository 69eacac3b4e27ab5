// The configs that a search may propose, independent of the compiler: knobs, legality, samples and neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "aot_runner/spec/random.h"
#include "runtime/base/config.h"

namespace kaon::runner {

struct SearchKnob {
  std::string name;
  std::vector<std::string> choices;  // in canonical order: neighbours in this list are neighbours in the search
};

struct SearchSpace {
  std::vector<SearchKnob> knobs;
  Config default_config;
  Config generic_config;
  std::function<Config(const Config&)> normalize;          // equal code gives equal configs
  std::function<std::string(const Config&)> why_illegal;   // empty when legal
  std::function<std::vector<Config>(size_t)> enumerate;    // legal normalised configs in canonical order, up to a limit
};

/// The default and the generic config, normalised, without repeats: what every search measures first.
std::vector<Config> seed_configs(const SearchSpace& space);

/// Up to `count` legal configs that are not in `known`, each choice of each knob as evenly used as legality allows.
/// They are added to `known`. Fewer when the space seems exhausted.
std::vector<Config> sample_configs(const SearchSpace& space, size_t count, Random* random, std::set<Config>* known);

/// Legal configs that differ from `config` in one knob: by one or two steps in its list of choices, or by any choice
/// when its list is short. In canonical order, without `config` itself.
std::vector<Config> neighbours(const SearchSpace& space, const Config& config);

}  // namespace kaon::runner
