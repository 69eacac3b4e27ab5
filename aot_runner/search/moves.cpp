// Steps of a search that know the shape they are for: capacities that just cover it, one knob at a time.
#include <algorithm>
#include <cmath>

#include "aot_runner/search/space.h"

namespace kaon::runner {
namespace {

constexpr double kSnugFill = 0.70;  // a capacity used to this share need not be looked for again

constexpr const char* kRowKnob = "reduce.";

bool has_prefix(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

/// "resident" of "resident(4)".
std::string family(const std::string& choice) { return choice.substr(0, choice.find('(')); }

std::optional<Config> legal(const SearchSpace& space, const Config& config) {
  Config normal = space.normalize(config);
  if (!space.why_illegal(normal).empty()) return std::nullopt;
  return normal;
}

/// `config`, or where it refuses the shape for another reason than its capacity, what serves it with one more knob
/// turned: a vector that a row does not divide by wants that row shifted, whatever else is turned.
std::vector<Config> serving(const SearchSpace& space, const Config& config, const Shape& shape) {
  if (std::isfinite(space.fill_of(config, shape))) return {config};
  std::vector<Config> found;
  for (const SearchKnob& knob : space.knobs) {
    for (const std::string& choice : knob.choices) {
      Config turned = config;
      turned.set(knob.name, choice);
      turned = space.normalize(turned);
      if (std::isfinite(space.fill_of(turned, shape))) found.push_back(std::move(turned));
    }
  }
  return found;
}

/// The default config or what serves the shape instead.
std::vector<Config> bases(const SearchSpace& space, const Shape& shape) {
  std::vector<Config> found;
  for (const Config& config : serving(space, space.normalize(space.default_config), shape)) {
    if (space.why_illegal(config).empty()) found.push_back(config);
  }
  return found;
}

}  // namespace

bool worth_measuring(const SearchSpace& space, const Config& config, const Shape& shape, double least_fill) {
  if (!space.fill) return true;
  const double fill = space.fill(config, shape);
  if (fill > 1) return false;
  if (fill >= least_fill) return true;
  const std::vector<Config> seeds = seed_configs(space);
  return std::find(seeds.begin(), seeds.end(), config) != seeds.end();
}

bool is_fine_knob(const std::string& knob) {
  return has_prefix(knob, "evict.") || has_prefix(knob, "keep.") || knob == "maxnreg";
}

std::string row_way(const Config& config) {
  std::string way;
  for (const auto& [knob, value] : config.values()) {
    if (has_prefix(knob, kRowKnob)) way += family(value) + ' ';
  }
  return way;
}

Config widened(const SearchSpace& space, const Config& config) {
  Config wide = config;
  for (const SearchKnob& knob : space.knobs) {
    if (has_prefix(knob.name, "versions.") || has_prefix(knob.name, "longer."))
      wide.set(knob.name, knob.choices.back());
  }
  return space.why_illegal(wide).empty() ? space.normalize(wide) : config;
}

std::optional<Config> fitted(const SearchSpace& space, const Config& config, const Shape& shape) {
  double best_fill = space.fill_of(config, shape);
  if (best_fill >= kSnugFill && best_fill <= 1) return config;
  std::optional<Config> best;
  if (best_fill <= 1) best = config;
  for (const SearchKnob& knob : space.knobs) {
    const std::string* now = config.find(knob.name);
    if (now == nullptr || !has_prefix(knob.name, kRowKnob)) continue;
    for (const std::string& choice : knob.choices) {
      if (family(choice) != family(*now)) continue;
      Config turned = config;
      turned.set(knob.name, choice);
      const std::optional<Config> candidate = legal(space, turned);
      if (!candidate) continue;
      const double fill = space.fill_of(*candidate, shape);
      if (fill > 1 || (best && fill <= best_fill)) continue;
      best_fill = fill;
      best = candidate;
    }
  }
  if (best && best_fill < kLeastFill) return std::nullopt;
  return best;
}

std::vector<Config> ladder(const SearchSpace& space, const Shape& shape) {
  std::set<Config> rungs;
  const auto add = [&](const Config& config) {
    const std::optional<Config> normal = legal(space, config);
    const std::optional<Config> rung = fitted(space, normal ? *normal : config, shape);
    if (rung && space.why_illegal(*rung).empty()) rungs.insert(*rung);
  };
  for (const Config& base : bases(space, shape)) {
    for (const SearchKnob& warps : space.knobs) {
      if (warps.name != "num_warps") continue;
      for (const std::string& number : warps.choices) {
        Config config = base;
        config.set(warps.name, number);
        add(config);
        for (const SearchKnob& row : space.knobs) {
          if (!has_prefix(row.name, kRowKnob)) continue;
          for (const std::string& choice : row.choices) {
            Config walked = config;
            walked.set(row.name, choice);
            add(walked);
          }
        }
      }
    }
  }
  return {rungs.begin(), rungs.end()};
}

std::vector<Config> moves(const SearchSpace& space, const Config& config, const Shape& shape, bool fine) {
  std::set<Config> found;
  for (const SearchKnob& knob : space.knobs) {
    if (is_fine_knob(knob.name) != fine) continue;
    for (const std::string& choice : knob.choices) {
      Config turned = config;
      turned.set(knob.name, choice);
      for (const Config& serves : serving(space, space.normalize(turned), shape)) {
        std::optional<Config> candidate = fitted(space, serves, shape);
        if (!candidate || *candidate == config || !space.why_illegal(*candidate).empty()) continue;
        found.insert(std::move(*candidate));
      }
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace kaon::runner
