// The configs of a kernel with several bodies: a choice of body, then the knobs of that one.
#include <algorithm>

#include "compiler/config/config_space.h"
#include "compiler/ir/choices.h"

namespace kaon::compiler {

/// Knobs of the choices, then those of any body: a body has no use for what only others have.
void ConfigSpace::join_bodies() {
  for (const KernelChoice& choice : logical_.choices->knobs) {
    knobs_.push_back({choice.knob, choice.values, choice.values[0], choice.help});
  }
  for (const Kernel& body : logical_.choices->bodies) {
    bodies_.push_back(std::unique_ptr<ConfigSpace>(new ConfigSpace(body, target_, /*is_body=*/true)));
    for (const Knob& knob : bodies_.back()->knobs()) {
      const auto known = std::find_if(knobs_.begin(), knobs_.end(), [&](const Knob& k) { return k.name == knob.name; });
      if (known == knobs_.end()) {
        knobs_.push_back(knob);
        continue;
      }
      for (const std::string& value : knob.choices) {
        if (std::find(known->choices.begin(), known->choices.end(), value) == known->choices.end())
          known->choices.push_back(value);
      }
    }
  }
}

const ConfigSpace& ConfigSpace::body_space(const Config& config) const {
  return *bodies_[choose_body(*logical_.choices, config)];
}

/// What of `config` the chosen body has knobs for, and what no body has.
Config ConfigSpace::body_config(const Config& config) const {
  const ConfigSpace& space = body_space(config);
  Config out;
  for (const auto& [name, value] : config.values()) {
    if (space.find(name) != nullptr || find(name) == nullptr) out.set(name, value);
  }
  return out;
}

Config ConfigSpace::with_choices(Config config, size_t body) const {
  const std::vector<KernelChoice>& knobs = logical_.choices->knobs;
  for (size_t i = knobs.size(); i-- > 0; body /= knobs[i].values.size()) {
    config.set(knobs[i].knob, knobs[i].values[body % knobs[i].values.size()]);
  }
  return config;
}

std::string ConfigSpace::why_illegal_body(const Config& config) const {
  for (const KernelChoice& choice : logical_.choices->knobs) {
    const std::string* value = config.find(choice.knob);
    if (value == nullptr || std::find(choice.values.begin(), choice.values.end(), *value) != choice.values.end()) {
      continue;
    }
    std::string expected;
    for (const std::string& known : choice.values) expected += (expected.empty() ? "" : ", ") + known;
    return choice.knob + "=" + *value + ": expected one of " + expected;
  }
  return body_space(config).why_illegal(body_config(config));
}

}  // namespace kaon::compiler
