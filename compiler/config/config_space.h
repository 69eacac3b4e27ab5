// The knobs of a kernel, their legal values, and why a config is illegal.
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "compiler/config/axis_sets.h"
#include "compiler/config/tile_plan.h"
#include "compiler/ir/ir.h"
#include "compiler/target/target.h"
#include "runtime/base/config.h"

namespace kaon::compiler {

struct Knob {
  std::string name;                  // "block.m", "reduce.N", "num_warps"
  std::vector<std::string> choices;  // canonical order; the search space
  std::string default_value;
  std::string help;  // one line for --list-knobs
};

class ConfigSpace {
 public:
  ConfigSpace(const Kernel& logical, const Target& target);
  const std::vector<Knob>& knobs() const { return knobs_; }
  const Knob* find(const std::string& name) const;
  /// Every knob at its default.
  Config default_config() const;
  /// The config that accepts every legal call (no guards beyond what any call satisfies).
  Config generic_config() const;
  /// `config` with defaults filled in, irrelevant knobs dropped: equal code has equal text.
  Config normalize(const Config& config) const;
  /// Empty when legal, else the reason in words and numbers. Cheap: looks at knobs, not at compiled code.
  std::string why_illegal(const Config& config) const;
  /// Number of points before legality, saturating.
  uint64_t size() const;
  /// Every legal normalised config, in canonical order, duplicates removed; stops after `limit`.
  std::vector<Config> enumerate(size_t limit) const;

 private:
  ConfigSpace(const Kernel& logical, const Target& target, bool is_body);
  // Of a kernel with several bodies: config_choices.cpp.
  void join_bodies();
  const ConfigSpace& body_space(const Config& config) const;
  Config body_config(const Config& config) const;
  Config with_choices(Config config, size_t body) const;
  std::string why_illegal_body(const Config& config) const;
  std::string why_illegal_choice(const Config& config) const;
  std::string why_illegal_row(const Config& config, const Axis& axis, int64_t capacity) const;
  std::string why_illegal_shift(const Config& config, const std::string& axis_name) const;
  size_t num_hints(const Config& config) const;
  bool is_output_hint(const std::string& knob) const;
  bool is_worth_searching(const Config& config) const;
  bool keeps_input(const Config& config, const AxisSet& set) const;
  std::string why_illegal_tile(const Config& config) const;
  Config completed(const Config& config) const;
  std::optional<TilePlan> plan_without_lanes(const Config& config) const;
  void drop_neutral(Config* config) const;
  void extend(size_t knob, Config* partial, size_t limit, std::set<Config>* seen, std::vector<Config>* out) const;

  Kernel logical_;  // as the pipeline's first pass leaves it
  Target target_;
  std::vector<AxisSet> sets_;
  std::vector<AxisId> loops_;
  std::vector<Knob> knobs_;
  std::vector<std::unique_ptr<ConfigSpace>> bodies_;  // empty for a kernel with one body
  size_t num_shape_knobs_ = 0;                        // the first knobs: those that decide tiles and threads
};

}  // namespace kaon::compiler
