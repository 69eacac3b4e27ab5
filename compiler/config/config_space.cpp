// Legality, normal form and enumeration of configs.
#include "compiler/config/config_space.h"

#include <algorithm>

#include "compiler/config/grid_nest.h"
#include "compiler/config/knob_list.h"
#include "compiler/config/tile_plan.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

// Registers beside the elements of a tile: addresses, masks, counters. Measured on row kernels: 13 to 20.
constexpr uint64_t kOtherRegisters = 24;

/// The sets of what is left when nobody reads dead code.
std::vector<AxisSet> live_axis_sets(const Kernel& logical) {
  Kernel live = clone(logical);
  erase_dead_ops(live);
  return find_axis_sets(live);
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::string joined_names(const std::vector<Knob>& knobs) {
  std::string out;
  for (const Knob& knob : knobs) out += (out.empty() ? "" : ", ") + knob.name;
  return out;
}

}  // namespace

ConfigSpace::ConfigSpace(const Kernel& logical, const Target& target)
    : logical_(logical), target_(target), sets_(live_axis_sets(logical)) {
  KnobList list = list_knobs(logical_, sets_);
  knobs_ = std::move(list.knobs);
  num_shape_knobs_ = list.num_shape_knobs;
}

const Knob* ConfigSpace::find(const std::string& name) const {
  for (const Knob& knob : knobs_) {
    if (knob.name == name) return &knob;
  }
  return nullptr;
}

Config ConfigSpace::default_config() const {
  const Config config = normalize(Config());
  if (why_illegal(config).empty()) return config;
  const std::vector<Config> first = enumerate(1);
  return first.empty() ? generic_config() : first[0];
}

Config ConfigSpace::generic_config() const {
  Config config;
  for (const Knob& knob : knobs_) {
    if (starts_with(knob.name, "div.")) config.set(knob.name, "1");
  }
  config.set("vec", 1);
  config.set("index", 64);
  for (const Axis& axis : logical_.axes) {
    if (is_row_axis(axis) && find("reduce." + axis.name)) {
      config.set("reduce." + axis.name, find("lanes." + axis.name) ? "chunk(512)" : "chunk(1)");
    }
    if (find("block." + axis.name)) config.set("block." + axis.name, find("lanes." + axis.name) ? 128 : 1);
  }
  for (const int64_t warps : {4, 2, 1}) {
    config.set("num_warps", warps);
    if (why_illegal(config).empty()) break;
  }
  return normalize(config);
}

Config ConfigSpace::completed(const Config& config) const {
  Config out = config;
  for (const Knob& knob : knobs_) {
    if (!config.find(knob.name)) out.set(knob.name, knob.default_value);
  }
  return out;
}

Config ConfigSpace::normalize(const Config& config) const {
  Config out = completed(config);
  drop_neutral(&out);
  return out;
}

/// Drops knobs that turn nothing: neutral values, and what other knobs make irrelevant.
void ConfigSpace::drop_neutral(Config* config) const {
  const bool scalar = config->get_int("vec", 1) == 1;
  Config shapes = *config;
  for (const Knob& knob : knobs_) {
    if (starts_with(knob.name, "lanes.")) shapes.set(knob.name, "auto");
  }
  const Result<TilePlan> automatic = plan_tiles(logical_, sets_, shapes);
  for (const Axis& axis : logical_.axes) {
    const bool shifted = config->get("shift." + axis.name, "0") == "1";
    if (scalar || !shifted) config->erase("shift." + axis.name);
    const int dim = dim_of_axis(logical_, axis);
    if (shifted && dim >= 0) config->erase("div." + logical_.signature.dims[static_cast<size_t>(dim)]);
    const std::string lanes = config->get("lanes." + axis.name, "auto");
    if (lanes == "auto") config->erase("lanes." + axis.name);
    for (size_t i = 0; automatic && i < sets_.size(); ++i) {
      const bool inner = axis.name == logical_.axis(sets_[i].inner).name;
      if (inner && lanes == std::to_string(automatic->shares[i].inner_threads)) config->erase("lanes." + axis.name);
    }
  }
  for (const Knob& knob : knobs_) {
    if (scalar && starts_with(knob.name, "div.")) config->erase(knob.name);
    if (starts_with(knob.name, "evict.") && config->get(knob.name, "default") == "default") config->erase(knob.name);
    if (knob.name == "grid.depth" && config->get(knob.name, "") == knob.default_value) config->erase(knob.name);
  }
  if (config->get_int("maxnreg", 0) == 0) config->erase("maxnreg");
}

std::string ConfigSpace::why_illegal(const Config& given) const {
  for (const auto& [name, value] : given.values()) {
    if (!find(name)) return "no knob " + name + "; this kernel has " + joined_names(knobs_);
  }
  const Config config = completed(given);
  std::string why = why_illegal_tile(config);
  return why.empty() ? why_illegal_choice(config) : why;
}

/// Threads, tiles and registers.
std::string ConfigSpace::why_illegal_tile(const Config& config) const {
  const Result<TilePlan> plan = plan_tiles(logical_, sets_, config);
  if (!plan) return plan.status().message();
  const uint64_t threads = plan->num_warps * 32ull;
  if (threads > target_.max_threads) {
    return "num_warps=" + std::to_string(plan->num_warps) + ": " + std::to_string(threads) + " threads, " +
           target_.name + " has at most " + std::to_string(target_.max_threads) + " in a block";
  }
  uint32_t replicas = sets_.empty() ? 1 : 1024;
  for (size_t i = 0; i < sets_.size(); ++i) {
    const TileShares& shares = plan->shares[i];
    replicas = std::min(replicas, shares.replicas);
    const uint64_t registers = shares.registers * std::max<uint32_t>(4, sets_[i].widest_bytes) / 4 + kOtherRegisters;
    const uint64_t most = std::min<uint64_t>(target_.max_registers_per_thread, target_.registers_per_sm / threads);
    if (registers > most) {
      return std::to_string(shares.registers) + " elements of a tile in one thread need about " +
             std::to_string(registers) + " registers, at " + std::to_string(threads) + " threads there are " +
             std::to_string(most);
    }
  }
  if (replicas > 1 && plan->num_warps > 1) {
    return "only " + std::to_string(threads / replicas) + " of " + std::to_string(threads) +
           " threads would have work of their own; lower num_warps or raise a block";
  }
  for (const Axis& axis : logical_.axes) {
    const auto block = plan->blocks.find(static_cast<AxisId>(&axis - logical_.axes.data()));
    if (!is_row_axis(axis) || block == plan->blocks.end()) continue;
    std::string why = why_illegal_row(config, axis, block->second);
    if (!why.empty()) return why;
  }
  return {};
}

std::string ConfigSpace::why_illegal_row(const Config& config, const Axis& axis, int64_t capacity) const {
  const Result<RowPlan> row = row_knob(config, axis);
  if (!row) return row.status().message();
  if (!row->resident) return {};
  const std::string knob = "reduce." + axis.name + "=" + config.get("reduce." + axis.name, "");
  if (axis.extent_value != kNoValue) return knob + ": the extent is data, so no call can be known to fit";
  const auto form = linear_form(axis.extent);
  if (!form) return knob + ": no guard can bound this extent; take chunk(c)";
  if (form->is_constant() && form->offset > capacity) {
    return knob + ": the extent " + std::to_string(form->offset) + " exceeds the capacity " + std::to_string(capacity);
  }
  return {};
}

/// Everything that only changes how elements are accessed.
std::string ConfigSpace::why_illegal_choice(const Config& config) const {
  const int64_t vec = config.get_int("vec", 1);
  for (const Knob& knob : knobs_) {
    const std::string value = config.get(knob.name, "");
    const std::string shown = knob.name + "=" + value;
    if (starts_with(knob.name, "div.")) {
      const Result<int64_t> divisor = int_knob(config, knob.name, 1, 1 << 20);
      if (!divisor) return divisor.status().message();
      if (*divisor != 1 && *divisor % vec != 0) return shown + " is no multiple of vec=" + std::to_string(vec);
    } else if (starts_with(knob.name, "shift.")) {
      if (value != "0" && value != "1") return shown + ": expected 0 or 1";
      if (value == "1" && vec == 1) return shown + ": with vec=1 every address is aligned";
    } else if (starts_with(knob.name, "evict.")) {
      if (value != "default" && value != "stream") return shown + ": expected default or stream";
    } else if (knob.name == "index") {
      if (value != "32" && value != "64") return shown + ": expected 32 or 64";
    } else if (knob.name == "grid.depth") {
      const Result<int64_t> depth = int_knob(config, knob.name, 1, static_cast<int64_t>(knob.choices.size()));
      if (!depth) return depth.status().message();
    } else if (knob.name == "maxnreg" && value != "0") {
      const Result<int64_t> registers = int_knob(config, knob.name, 24, target_.max_registers_per_thread);
      if (!registers) return registers.status().message();
    }
  }
  return {};
}

uint64_t ConfigSpace::size() const {
  uint64_t product = 1;
  for (const Knob& knob : knobs_) {
    const uint64_t choices = knob.choices.size();
    if (product > UINT64_MAX / choices) return UINT64_MAX;
    product *= choices;
  }
  return product;
}

/// Appends every legal way to turn knobs `knob` and later. Tiles that are illegal are not varied further.
void ConfigSpace::extend(size_t knob, Config* partial, size_t limit, std::set<Config>* seen,
                         std::vector<Config>* out) const {
  if (out->size() >= limit) return;
  if (knob == num_shape_knobs_ && !why_illegal_tile(completed(*partial)).empty()) return;
  if (knob == knobs_.size()) {
    const Config config = normalize(*partial);
    if (!why_illegal_choice(completed(config)).empty()) return;
    if (seen->insert(config).second) out->push_back(config);
    return;
  }
  for (const std::string& choice : knobs_[knob].choices) {
    partial->set(knobs_[knob].name, choice);
    extend(knob + 1, partial, limit, seen, out);
  }
  partial->erase(knobs_[knob].name);
}

std::vector<Config> ConfigSpace::enumerate(size_t limit) const {
  std::vector<Config> out;
  std::set<Config> seen;
  Config partial;
  extend(0, &partial, limit, &seen, &out);
  return out;
}

}  // namespace kaon::compiler
