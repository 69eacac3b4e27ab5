// Legality, normal form and enumeration of configs.
#include "compiler/config/config_space.h"

#include <algorithm>

#include "compiler/config/cluster.h"
#include "compiler/config/dot_plan.h"
#include "compiler/config/grid_nest.h"
#include "compiler/config/knob_list.h"
#include "compiler/config/loop_schedule.h"
#include "compiler/config/part_views.h"
#include "compiler/config/row_versions.h"
#include "compiler/ir/choices.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

// Registers beside the elements of a tile: addresses, masks, counters. Measured on row kernels: 13 to 20.
constexpr uint64_t kOtherRegisters = 24;

/// What is left when parts are pushed to loads and stores and nobody reads dead code.
Kernel prepared(const Kernel& logical) {
  Kernel live = clone(logical);
  push_parts(live);
  erase_dead_ops(live);
  return live;
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::string joined_names(const std::vector<Knob>& knobs) {
  std::string out;
  for (const Knob& knob : knobs) out += (out.empty() ? "" : ", ") + knob.name;
  return out;
}

}  // namespace

ConfigSpace::ConfigSpace(const Kernel& logical, const Target& target)
    : ConfigSpace(logical, target, /*is_body=*/logical.choices == nullptr) {}

ConfigSpace::ConfigSpace(const Kernel& logical, const Target& target, bool is_body)
    : logical_(prepared(logical)),
      target_(target),
      sets_(find_axis_sets(logical_)),
      loops_(loop_axes(logical_, sets_)) {
  if (!is_body) {
    join_bodies();
    return;
  }
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
  if (!bodies_.empty()) return with_choices(bodies_[0]->default_config(), 0);
  const Config config = normalize(Config());
  if (why_illegal(config).empty()) return config;
  const std::vector<Config> first = enumerate(1);
  return first.empty() ? generic_config() : first[0];
}

Config ConfigSpace::generic_config() const {
  if (!bodies_.empty()) return with_choices(bodies_[0]->generic_config(), 0);
  Config config;
  for (const Knob& knob : knobs_) {
    if (starts_with(knob.name, "div.")) config.set(knob.name, "1");
  }
  config.set("vec", 1);
  config.set("index", 64);
  const DotAxes dots = find_dot_axes(logical_);
  std::vector<std::string> carried_rows;  // no chunk serves them: the longest that fits does
  for (size_t i = 0; i < logical_.axes.size(); ++i) {
    const Axis& axis = logical_.axes[i];
    const bool is_dot = dots.has(static_cast<AxisId>(i));
    const bool is_inner = find("lanes." + axis.name) != nullptr;
    if (is_row_axis(axis) && find("reduce." + axis.name)) {
      config.set("reduce." + axis.name, is_dot ? "chunk(32)" : is_inner ? "chunk(512)" : "chunk(1)");
      if (is_carried(logical_, static_cast<AxisId>(i))) carried_rows.push_back("reduce." + axis.name);
    }
    if (find("block." + axis.name)) config.set("block." + axis.name, is_dot ? 32 : is_inner ? 128 : 1);
  }
  for (int64_t repetitions = carried_rows.empty() ? 1 : 64; repetitions >= 1; repetitions /= 2) {
    for (const std::string& row : carried_rows) config.set(row, "resident(" + std::to_string(repetitions) + ")");
    for (const int64_t warps : {4, 2, 1}) {
      config.set("num_warps", warps);
      if (why_illegal(config).empty()) return normalize(config);
    }
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
  if (!bodies_.empty()) {
    return with_choices(body_space(config).normalize(body_config(config)), choose_body(*logical_.choices, config));
  }
  Config out = completed(config);
  drop_neutral(&out);
  return out;
}

/// As many versions as differ, and none of a row that is walked by chunks in any case.
static void drop_equal_versions(const Axis& axis, Config* config) {
  const bool chunked = config->get("reduce." + axis.name, "").rfind("resident", 0) != 0;
  if (chunked || !loops_longer(*config, axis)) config->erase("longer." + axis.name);
  const std::string knob = "versions." + axis.name;
  if (!config->find(knob)) return;
  const Result<RowPlan> row = row_knob(*config, axis);
  const int64_t wanted = config->get_int(knob, 1);
  if (!row || wanted < 1 || wanted > kMaxVersions) return;  // illegal, which is said elsewhere
  const auto versions = static_cast<int64_t>(version_repetitions(row->repetitions, wanted).size());
  if (!row->resident || versions == 1) {
    config->erase(knob);
  } else {
    config->set(knob, versions);
  }
}

/// Schedules of loops, with the registers that a thread of the target may use.
static std::string why_illegal_loops(const Kernel& kernel, const std::vector<AxisSet>& sets,
                                     const std::vector<AxisId>& loops, const Target& target, const Config& config) {
  const auto threads = static_cast<uint64_t>(std::max<int64_t>(1, config.get_int("num_warps", 1))) * 32;
  const uint64_t most = std::min<uint64_t>(target.max_registers_per_thread, target.registers_per_sm / threads);
  return why_illegal_schedule(kernel, sets, loops, config, most, kOtherRegisters);
}

/// What would schedule loops that this config does not have. `full` is complete.
static void drop_idle_schedule(const Kernel& kernel, const std::vector<AxisId>& axes, const Config& full,
                               Config* config) {
  const int64_t stages = config->get_int("num_stages", 1);
  if (stages == 1 || ahead_loops(kernel, axes, full).empty()) config->erase("num_stages");
  for (const AxisId axis : axes) {
    const std::string knob = "unroll." + kernel.axis(axis).name;
    if (config->get_int(knob, 1) == 1 || !is_looped(kernel, full, axis)) config->erase(knob);
  }
}

/// The tiles that the config would have with automatic lanes; nothing when it has none but those, or no legal tiles.
std::optional<TilePlan> ConfigSpace::plan_without_lanes(const Config& config) const {
  Config automatic = config;
  for (const Knob& knob : knobs_) {
    if (starts_with(knob.name, "lanes.")) automatic.set(knob.name, "auto");
  }
  if (automatic == config) return std::nullopt;
  Result<TilePlan> plan = plan_tiles(logical_, sets_, automatic);
  return plan ? std::optional(std::move(plan).value()) : std::nullopt;
}

/// Drops knobs that turn nothing: neutral values, and what other knobs make irrelevant.
void ConfigSpace::drop_neutral(Config* config) const {
  const bool scalar = config->get_int("vec", 1) == 1;
  const std::optional<TilePlan> automatic = plan_without_lanes(*config);
  for (const Axis& axis : logical_.axes) {
    const bool shifted = config->get("shift." + axis.name, "0") == "1";
    if (scalar || !shifted) config->erase("shift." + axis.name);
    const bool resident = config->get("reduce." + axis.name, "").rfind("resident", 0) == 0;
    if (!resident || config->get("keep." + axis.name, "values") == "values") config->erase("keep." + axis.name);
    drop_equal_versions(axis, config);
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
    if (is_output_hint(knob.name) && config->get(knob.name, "") == "stream") config->set(knob.name, std::string("cs"));
    if (starts_with(knob.name, "evict.") && config->get(knob.name, "default") == "default") config->erase(knob.name);
    if (starts_with(knob.name, "split.") && config->get(knob.name, "1") == "1") config->erase(knob.name);
    if (knob.name == "grid.depth" && config->get(knob.name, "") == knob.default_value) config->erase(knob.name);
  }
  if (config->get_int("maxnreg", 0) == 0) config->erase("maxnreg");
  drop_idle_schedule(logical_, loops_, completed(*config), config);
}

std::string ConfigSpace::why_illegal(const Config& given) const {
  if (!bodies_.empty()) return why_illegal_body(given);
  for (const auto& [name, value] : given.values()) {
    if (name == "num_stages" && !find(name)) {
      return name + "=" + value + ": this kernel has no loop with a load that could be issued before its turn";
    }
    if (!find(name)) return "no knob " + name + "; this kernel has " + joined_names(knobs_);
  }
  const Config config = completed(given);
  std::string why = why_illegal_tile(config);
  if (why.empty()) why = why_illegal_loops(logical_, sets_, loops_, target_, config);
  return why.empty() ? why_illegal_choice(config) : why;
}

/// evict.<tensor> of an output, where `stream` is another word for `cs`.
bool ConfigSpace::is_output_hint(const std::string& knob) const {
  const auto& tensors = logical_.signature.tensors;
  return std::any_of(tensors.begin(), tensors.end(),
                     [&](const TensorParam& tensor) { return tensor.is_output && knob == "evict." + tensor.name; });
}

/// Whether some row of the set stays packed across reductions.
bool ConfigSpace::keeps_input(const Config& config, const AxisSet& set) const {
  return set.narrowest_bytes > 0 && std::any_of(set.axes.begin(), set.axes.end(), [&](AxisId id) {
           const std::string& name = logical_.axis(id).name;
           return config.get("keep." + name, "values") == "input" &&
                  starts_with(config.get("reduce." + name, ""), "resident");
         });
}

/// The axis, of one set, of which each row is the work of one block of a cluster alone; empty when blocks share them.
/// With a jagged row goes what lies along it, as rows of features do.
static std::string rows_within_block(const Kernel& kernel, const TilePlan& plan, size_t set) {
  const TileShares& shares = plan.shares[set];
  AxisId row = plan.sets[set].inner;
  uint64_t threads = shares.inner_threads;
  for (const AxisShare& share : shares.shares) {
    if (kernel.axis(share.axis).lengths == kNoValue) continue;
    if (share.axis != plan.sets[set].inner) threads *= share.threads;
    row = share.axis;
  }
  return threads * plan.cluster > plan.num_warps * 32ull ? std::string() : kernel.axis(row).name;
}

/// Each thread of a cluster folds what all warps along a jagged row come to in a turn: values, and the addresses of 64
/// bits that they have in another block's memory. Why it has no room for that.
static std::string why_too_many_partials(const Kernel& kernel, const TilePlan& plan, size_t set, uint64_t most) {
  const TileShares& shares = plan.shares[set];
  for (const AxisShare& share : shares.shares) {
    if (kernel.axis(share.axis).lengths == kNoValue) continue;
    uint64_t warps = 1;
    for (const Digit& digit : share.digits) warps *= digit.where == Where::kWarp ? digit.radix : 1;
    const uint64_t words = std::max<uint32_t>(4, plan.sets[set].widest_bytes) / 4 + 2;
    const uint64_t registers = warps * (shares.registers / share.registers) * words + kOtherRegisters;
    if (registers <= most) continue;
    return "what " + std::to_string(warps) + " warps along " + kernel.axis(share.axis).name + " come to takes about " +
           std::to_string(registers) + " registers of each thread, there are " + std::to_string(most) +
           "; lower num_warps or split";
  }
  return {};
}

/// Threads, tiles and registers.
std::string ConfigSpace::why_illegal_tile(const Config& config) const {
  const Result<TilePlan> plan = plan_tiles(logical_, sets_, config);
  if (!plan) return plan.status().message();
  if (plan->cluster > 1 && !target_.is_host && !target_.has_cluster) return target_.name + " has no clusters of blocks";
  const uint64_t threads = plan->num_warps * 32ull / (target_.is_host ? 1 : plan->cluster);
  if (threads > target_.max_threads) {
    return std::to_string(threads) + " threads, " + target_.name + " has at most " +
           std::to_string(target_.max_threads) + " in a block; lower num_warps" +
           (plan->cluster > 1 ? " or split" : "");
  }
  uint32_t replicas = sets_.empty() ? 1 : 1024;
  for (size_t i = 0; i < sets_.size(); ++i) {
    const TileShares& shares = plan->shares[i];
    replicas = std::min(replicas, shares.replicas);
    const uint32_t bytes = keeps_input(config, sets_[i]) ? std::min<uint32_t>(4, sets_[i].narrowest_bytes)
                                                         : std::max<uint32_t>(4, sets_[i].widest_bytes);
    const uint64_t registers = shares.registers * bytes / 4 + kOtherRegisters;
    const uint64_t most = std::min<uint64_t>(target_.max_registers_per_thread, target_.registers_per_sm / threads);
    if (registers > most) {
      return std::to_string(shares.registers) + " elements of a tile in one thread need about " +
             std::to_string(registers) + " registers, at " + std::to_string(threads) + " threads there are " +
             std::to_string(most);
    }
  }
  const uint64_t most = std::min<uint64_t>(target_.max_registers_per_thread, target_.registers_per_sm / threads);
  const std::string why_dots = why_illegal_dots(logical_, *plan, most, target_);
  if (!why_dots.empty()) return why_dots;
  if (replicas > 1 && plan->num_warps > 1) {
    return "only " + std::to_string(plan->num_warps * 32 / replicas) + " of " + std::to_string(plan->num_warps * 32) +
           " threads would have work of their own; lower num_warps or raise a block";
  }
  for (size_t i = 0; i < sets_.size() && plan->cluster > 1; ++i) {
    const std::string within = rows_within_block(logical_, *plan, i);
    if (!within.empty()) return "rows of " + within + " would lie within one block each; leave out split";
    const std::string why = why_too_many_partials(logical_, *plan, i, most);
    if (!why.empty()) return why;
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
  const bool loops = loops_longer(config, axis);
  if ((!row->resident || loops) && is_carried(logical_, static_cast<AxisId>(&axis - logical_.axes.data()))) {
    return std::string(row->resident ? "longer." : "reduce.") + axis.name + ": values along " + axis.name +
           " are carried by a loop or branch, so the row must be resident(r)";
  }
  if (!row->resident || loops) return {};
  const std::string knob = "reduce." + axis.name + "=" + config.get("reduce." + axis.name, "");
  if (axis.extent_value != kNoValue) return knob + ": the extent is data, so no call can be known to fit";
  const auto form = linear_form(axis.extent);
  if (!form) return knob + ": no guard can bound this extent; take chunk(c)";
  if (form->is_constant() && form->offset > capacity) {
    return knob + ": the extent " + std::to_string(form->offset) + " exceeds the capacity " + std::to_string(capacity);
  }
  return {};
}

/// Whether `op` folds or scans the axis `row` of tiles along `inner` and leaves a value along `inner`.
static bool folds_rows(const Kernel& kernel, const Op& op, AxisId inner, AxisId row) {
  const auto has = [&](ValueId value, AxisId axis) {
    const auto& axes = kernel.type(value).axes;
    return std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  if (op.kind == OpKind::kScan && has(op.operands[0], inner)) {
    return kernel.type(op.operands[0]).axes[static_cast<size_t>(op.int_attr("dim"))] == row;
  }
  for (const ValueId result : op.results) {
    if (!has(result, inner) || has(result, row)) continue;
    for (const ValueId operand : op.operands) {
      if (has(operand, inner) && has(operand, row)) return true;
    }
  }
  return false;
}

/// The windows of several rows in one thread differ, so a value along them must be along the rows as well. Nor can the
/// elements of different rows meet, wherever those rows are.
std::string ConfigSpace::why_illegal_shift(const Config& config, const std::string& axis_name) const {
  const Result<TilePlan> plan = plan_tiles(logical_, sets_, config);
  if (!plan) return plan.status().message();
  std::string why;
  for (size_t i = 0; i < sets_.size(); ++i) {
    const AxisId inner = sets_[i].inner;
    if (logical_.axis(inner).name != axis_name) continue;
    if (logical_.axis(inner).extent_value != kNoValue) return "the extent is data, and a window covers whole rows only";
    for (const AxisShare& share : plan->shares[i].shares) {
      if (share.axis == inner) continue;
      walk(logical_.body, [&](const Op& op, const ConstOpPlace&) {
        if (share.registers * share.threads > 1 && folds_rows(logical_, op, inner, share.axis)) {
          why = "rows of " + logical_.axis(share.axis).name + " start in different places, but are folded into one";
        }
        for (const ValueId result : op.results) {
          if (share.registers == 1) break;
          const auto& axes = logical_.type(result).axes;
          const auto has = [&](AxisId axis) { return std::find(axes.begin(), axes.end(), axis) != axes.end(); };
          if (has(inner) && !has(share.axis)) {
            why = std::to_string(share.registers) + " rows of " + logical_.axis(share.axis).name +
                  " in one thread start in different places, but some value along " + axis_name + " has one place only";
          }
        }
      });
    }
  }
  return why;
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
      if (value == "1") {
        std::string why = why_illegal_shift(config, knob.name.substr(6));
        if (!why.empty()) return shown + ": " + why;
      }
    } else if (starts_with(knob.name, "versions.")) {
      const Result<int64_t> versions = int_knob(config, knob.name, 1, kMaxVersions);
      if (!versions) return versions.status().message();
    } else if (starts_with(knob.name, "split.")) {
      const Result<uint32_t> blocks = cluster_blocks(config);
      if (!blocks) return blocks.status().message();
    } else if (starts_with(knob.name, "longer.")) {
      if (value != "refuse" && value != "loop") return shown + ": expected refuse or loop";
    } else if (starts_with(knob.name, "keep.")) {
      if (value != "values" && value != "input") return shown + ": expected values or input";
    } else if (starts_with(knob.name, "evict.")) {
      if (value != "default" && value != "stream" && value != "cs") return shown + ": expected default, stream or cs";
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
  uint64_t sum = 0;
  for (const auto& body : bodies_) sum = sum > UINT64_MAX - body->size() ? UINT64_MAX : sum + body->size();
  if (!bodies_.empty()) return sum;
  uint64_t product = 1;
  for (const Knob& knob : knobs_) {
    const uint64_t choices = knob.choices.size();
    if (product > UINT64_MAX / choices) return UINT64_MAX;
    product *= choices;
  }
  return product;
}

/// Tensors with a cache hint: one at a time is searched.
size_t ConfigSpace::num_hints(const Config& config) const {
  size_t hints = 0;
  for (const auto& [name, value] : config.values()) hints += starts_with(name, "evict.") && value != "default" ? 1 : 0;
  return hints;
}

/// Leaves legal tiles out that cannot pay: packed inputs where the values take few registers anyway, many rows in a
/// block unless they are short and resident, and lanes by number but for threads that hold several of those.
bool ConfigSpace::is_worth_searching(const Config& config) const {
  constexpr uint64_t kFewRegisters = 64;
  constexpr uint64_t kShortRow = 1024;
  constexpr uint64_t kManyRows = 8;
  const Result<TilePlan> plan = plan_tiles(logical_, sets_, config);
  if (!plan) return false;
  const DotAxes dots = find_dot_axes(logical_);
  for (size_t i = 0; i < sets_.size(); ++i) {
    const TileShares& shares = plan->shares[i];
    const Axis& inner = logical_.axis(sets_[i].inner);
    if (keeps_input(config, sets_[i]) && shares.registers < kFewRegisters) return false;
    if (!is_row_axis(inner) || dots.has(sets_[i].inner)) continue;
    uint64_t rows = 1, rows_of_thread = 1, length = 1;
    for (const AxisShare& share : shares.shares) {
      (share.axis == sets_[i].inner ? length : rows) *= share.threads * share.registers;
      if (share.axis != sets_[i].inner) rows_of_thread *= share.registers;
    }
    const bool is_short = starts_with(config.get("reduce." + inner.name, ""), "resident") && length <= kShortRow &&
                          shares.registers <= kFewRegisters;
    if (rows > kManyRows && !is_short) return false;
    const bool has_lanes = config.get("lanes." + inner.name, "auto") != "auto";
    if (has_lanes && (!is_short || rows_of_thread == 1 || shares.replicas > 1)) return false;
  }
  return true;
}

/// Appends every legal way to turn knobs `knob` and later. Tiles that are illegal are not varied further.
void ConfigSpace::extend(size_t knob, Config* partial, size_t limit, std::set<Config>* seen,
                         std::vector<Config>* out) const {
  if (out->size() >= limit || num_hints(*partial) > 1) return;
  if (knob == num_shape_knobs_) {
    const Config tile = completed(*partial);
    if (!why_illegal_tile(tile).empty() || !is_worth_searching(tile)) return;
  }
  if (knob == knobs_.size()) {
    Config config = normalize(*partial);
    if (!seen->insert(config).second) return;  // looked at, legal or not
    const Config full = completed(config);
    if (why_illegal_loops(logical_, sets_, loops_, target_, full).empty() && why_illegal_choice(full).empty()) {
      out->push_back(std::move(config));
    }
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
  for (size_t i = 0; i < bodies_.size() && out.size() < limit; ++i) {
    for (Config& config : bodies_[i]->enumerate(limit - out.size())) out.push_back(with_choices(std::move(config), i));
  }
  if (!bodies_.empty()) return out;
  std::set<Config> seen;
  Config partial;
  extend(0, &partial, limit, &seen, &out);
  return out;
}

}  // namespace kaon::compiler
