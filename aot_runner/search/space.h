// The configs that a search may propose, independent of the compiler: knobs, legality, samples and neighbours.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "heuristics/random.h"
#include "aot_runner/spec/shape.h"
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
  std::function<Config(const Config&)> normalize;         // equal code gives equal configs
  std::function<std::string(const Config&)> why_illegal;  // empty when legal
  std::function<std::vector<Config>(size_t)> enumerate;   // legal normalised configs in canonical order, up to a limit
  /// Share of a config's capacity that a shape uses: above 1 its guards refuse the shape, far below 1 its threads idle;
  /// 1 for a config without capacity. Empty: 1 for all.
  std::function<double(const Config&, const Shape&)> fill;
  /// Shapes of different kinds are served by different configs, as those that divide by a vector and those that do not.
  /// Empty: all are of one kind.
  std::function<int(const Shape&)> kind;

  double fill_of(const Config& config, const Shape& shape) const { return fill ? fill(config, shape) : 1; }
  int kind_of(const Shape& shape) const { return kind ? kind(shape) : 0; }
};

/// The default and the generic config, normalised, without repeats: what every search measures first.
std::vector<Config> seed_configs(const SearchSpace& space);

/// Up to `count` legal configs that are not in `known`, each choice of each knob as evenly used as legality allows.
/// They are added to `known`. Fewer when the space seems exhausted.
std::vector<Config> sample_configs(const SearchSpace& space, size_t count, heuristics::Random* random, std::set<Config>* known);

/// Of a capacity: a search leaves out what fills it less; a power of two above four times the extent is out, the next
/// is in.
constexpr double kLeastFill = 0.22;
/// For configs that may ship, which serve whatever their guards accept: how bad they are far below their capacity has
/// to be known, lest the generic config serve shapes there for want of a measurement.
constexpr double kLeastFillOfFinal = 0.05;

/// False where guards are sure to refuse, and where a smaller share of the capacity would be used. The default and the
/// generic config are worth measuring everywhere: they are what others are compared with and what nothing else serves.
bool worth_measuring(const SearchSpace& space, const Config& config, const Shape& shape,
                     double least_fill = kLeastFill);

/// Whether a knob has a small effect that does not depend on the others, such as a cache hint: worth a look last.
bool is_fine_knob(const std::string& knob);

/// How a config walks rows, capacities aside: "resident ".
std::string row_way(const Config& config);

/// `config` with as many versions of its rows as there are, for shorter and for longer ones: as fast where it is best,
/// and of use on others.
Config widened(const SearchSpace& space, const Config& config);

/// `config` with its row knobs turned, within their way of walking a row, so that its capacity just covers `shape`.
/// Nothing when no choice serves the shape.
std::optional<Config> fitted(const SearchSpace& space, const Config& config, const Shape& shape);

/// Configs to begin a region with: every number of warps with every way to walk a row, fitted to `shape`, from the
/// default config or, where that is of the wrong kind, from what makes it serve the shape with one knob turned.
std::vector<Config> ladder(const SearchSpace& space, const Shape& shape);

/// Legal configs that differ from `config` in one knob and are then fitted to `shape`; only fine knobs, or all others.
/// Where the knob turned makes it refuse the shape (a vector that rows do not divide by), one more is turned to mend
/// it. In canonical order.
std::vector<Config> moves(const SearchSpace& space, const Config& config, const Shape& shape, bool fine);

}  // namespace kaon::runner
