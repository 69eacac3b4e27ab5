// Draws configs.
#include "tests/support/case_configs.h"

#include <algorithm>
#include <random>

namespace kaon::compiler {
namespace {

/// `value` with its number, if it has one, replaced by another of the same order: "resident(4)" gives "resident(6)".
std::string vary_number(const std::string& value, std::mt19937_64& random) {
  const size_t from = value.find_first_of("0123456789");
  if (from == std::string::npos) return value;
  const size_t end = std::min(value.find_first_not_of("0123456789", from), value.size());
  const uint64_t number = std::stoull(value.substr(from, end - from));
  return value.substr(0, from) + std::to_string(1 + random() % (2 * number + 1)) + value.substr(end);
}

}  // namespace

Config random_config(const ConfigSpace& space, uint64_t seed, int max_warps) {
  constexpr int kDraws = 200;
  std::mt19937_64 random(seed);
  for (int draw = 0; draw < kDraws; ++draw) {
    Config config;
    for (const Knob& knob : space.knobs()) {
      if (random() % 3 == 0) continue;
      std::string value = knob.choices[random() % knob.choices.size()];
      if (random() % 8 == 0) value = vary_number(value, random);
      // The search has few vector widths; elements one by one, and narrower vectors, are legal as well.
      if (knob.name == "vec" && random() % 3 == 0) value = std::to_string(1 << random() % 4);
      config.set(knob.name, value);
    }
    config = space.normalize(config);
    if (max_warps > 0 && config.get_int("num_warps", 1) > max_warps) continue;
    if (space.why_illegal(config).empty()) return config;
  }
  return {};
}

std::vector<Config> case_configs(const ConfigSpace& space, int random, uint64_t seed, int max_warps,
                                 const std::function<bool(const Config&)>& is_useful) {
  std::vector<Config> configs = {space.default_config()};
  const auto add = [&](const Config& config) {
    const bool is_new = std::find(configs.begin(), configs.end(), config) == configs.end();
    if (is_new) configs.push_back(config);
    return is_new;
  };
  add(space.generic_config());
  int wanted = random;
  for (uint64_t draw = 0; wanted > 0 && draw < 8u * static_cast<uint64_t>(random); ++draw) {
    const Config config = random_config(space, seed + draw, max_warps);
    if (!config.values().empty() && is_useful(config) && add(config)) --wanted;
  }
  return configs;
}

}  // namespace kaon::compiler
