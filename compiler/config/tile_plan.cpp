// Dealing the threads of a block out to the axes of a tile.
#include "compiler/config/tile_plan.h"

#include <algorithm>
#include <numeric>

#include "compiler/config/cluster.h"
#include "compiler/config/row_versions.h"
#include "compiler/ir/block_axis.h"

namespace kaon::compiler {

namespace {

constexpr uint32_t kLanes = 32;
constexpr int64_t kMaxRepetitions = 64;
constexpr int64_t kMaxChunk = 65536;

Status illegal(std::string message) { return Status(Code::kIllegalConfig, std::move(message)); }

bool is_power_of_two(int64_t v) { return v > 0 && (v & (v - 1)) == 0; }

uint64_t ceil_div_u(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

uint64_t next_power_of_two(uint64_t v) {
  uint64_t p = 1;
  while (p < v) p *= 2;
  return p;
}

/// A number of threads that fills whole lanes or whole warps.
bool is_thread_count(uint64_t threads, uint32_t num_warps) {
  if (threads <= kLanes) return is_power_of_two(static_cast<int64_t>(threads));
  return threads % kLanes == 0 && num_warps % (threads / kLanes) == 0;
}

/// Deals the threads of one set. The hardware indices still free are lanes [lane_unit, 32) and warps [warp_unit, W).
class SetPlanner {
 public:
  SetPlanner(const Kernel& kernel, const AxisSet& set, const Config& config, uint32_t num_warps,
             std::map<AxisId, int64_t>* blocks)
      : kernel_(kernel), set_(set), config_(config), num_warps_(num_warps), blocks_(*blocks) {}

  Result<TileShares> plan() {
    KAON_RETURN_IF_ERROR(plan_inner());
    std::map<AxisId, AxisShare> shares;
    shares[set_.inner] = inner_;
    for (auto axis = set_.axes.rbegin(); axis != set_.axes.rend(); ++axis) {
      if (*axis == set_.inner) continue;
      KAON_ASSIGN_OR_RETURN(shares[*axis], plan_outer(*axis));
    }
    for (const AxisId axis : set_.axes) out_.shares.push_back(shares[axis]);
    for (const AxisShare& share : out_.shares) out_.registers *= share.registers;
    out_.replicas = (kLanes / lane_unit_) * (num_warps_ / warp_unit_);
    return out_;
  }

 private:
  const Axis& axis(AxisId id) const { return kernel_.axis(id); }

  /// Size of the tile along an axis whose size does not follow from its threads: 0 for a row by repetitions.
  Result<int64_t> fixed_size(AxisId id) const {
    const auto known = blocks_.find(id);
    if (known != blocks_.end()) return known->second;
    const Axis& a = axis(id);
    if (a.kind == AxisKind::kTile || is_block(a)) {
      if (a.fixed_block > 0) return a.fixed_block;
      KAON_ASSIGN_OR_RETURN(const int64_t block, int_knob(config_, "block." + a.name, 1, kMaxChunk));
      if (!is_power_of_two(block)) {
        return illegal("block." + a.name + "=" + std::to_string(block) + " is no power of two");
      }
      return block;
    }
    if (!is_row_axis(a)) return static_extent(a);
    KAON_ASSIGN_OR_RETURN(const RowPlan row, row_knob(config_, a));
    return row.chunk;
  }

  /// Elements that one thread holds next to each other: the knob, but no more than the axis has or divides into.
  Result<uint32_t> inner_vec(int64_t size) const {
    KAON_ASSIGN_OR_RETURN(const int64_t vec, int_knob(config_, "vec", 1, 64));
    if (!is_power_of_two(vec)) return illegal("vec=" + std::to_string(vec) + " is no power of two");
    if (size == 0) return static_cast<uint32_t>(vec);
    return static_cast<uint32_t>(std::gcd(vec, size));
  }

  /// Threads along the inner axis when no knob says: what the tiles of the other axes leave, as far as it is needed.
  Result<uint64_t> automatic_lanes(int64_t size, uint32_t vec) const {
    uint64_t rows = 1;
    for (const AxisId id : set_.axes) {
      if (id == set_.inner) continue;
      KAON_ASSIGN_OR_RETURN(const int64_t other, fixed_size(id));
      if (other > 0) rows *= static_cast<uint64_t>(for_threads(id, other));
    }
    const uint64_t threads = static_cast<uint64_t>(num_warps_) * kLanes;
    uint64_t most = std::max<uint64_t>(1, threads / rows);
    // A size that another set has given must be hit; a constant extent is padded.
    const bool exact = static_extent(axis(set_.inner)) == 0 || blocks_.count(set_.inner) > 0;
    if (size > 0) most = std::min(most, next_power_of_two(ceil_div_u(static_cast<uint64_t>(size), vec)));
    for (uint64_t lanes = most; lanes > 1; --lanes) {
      const bool divides = !exact || size == 0 || static_cast<uint64_t>(size) % (vec * lanes) == 0;
      if (is_thread_count(lanes, num_warps_) && divides && serves_views(size, vec, lanes)) return lanes;
    }
    return 1;
  }

  /// Positions of an axis that may lie on threads of their own: views keep the rest in registers.
  int64_t for_threads(AxisId id, int64_t size) const {
    for (const auto& [low, high] : needs(id).in_registers) {
      size = high == 0 ? std::min(size, low) : std::max<int64_t>(1, size / (high / low));
    }
    return size;
  }

  const RootNeeds& needs(AxisId id) const { return set_.links->needs[static_cast<size_t>(id)]; }

  /// Whether the digits of the inner axis can be cut where its views want it.
  bool serves_views(int64_t size, uint64_t vec, uint64_t lanes) const {
    if (size == 0 || needs(set_.inner).empty()) return true;
    const auto digit = [](uint64_t radix, Where where) { return Digit{static_cast<uint32_t>(radix), where, 1}; };
    return satisfies({digit(vec, Where::kRegister), digit(std::min<uint64_t>(lanes, kLanes), Where::kLane),
                      digit(ceil_div_u(lanes, kLanes), Where::kWarp),
                      digit(ceil_div_u(static_cast<uint64_t>(size), vec * lanes), Where::kRegister)},
                     needs(set_.inner));
  }

  /// Neighbours of one thread and threads along the inner axis. Views may ask for more neighbours than the knob, or for
  /// fewer: those that leave work to the most threads are taken.
  Status choose_inner(int64_t size, uint32_t* vec, uint64_t* lanes) const {
    KAON_ASSIGN_OR_RETURN(*vec, inner_vec(size));
    KAON_ASSIGN_OR_RETURN(*lanes, inner_lanes(size, *vec));
    if (size == 0 || needs(set_.inner).empty()) return Status::ok();
    std::vector<uint32_t> candidates;
    for (uint32_t v = *vec; v <= size && size % v == 0; v *= 2) candidates.push_back(v);
    for (uint32_t v = *vec / 2; v >= 1; v /= 2) candidates.push_back(v);
    bool found = false;
    uint64_t most = 0;
    for (const uint32_t candidate : candidates) {
      KAON_ASSIGN_OR_RETURN(const uint64_t threads, inner_lanes(size, candidate));
      if (threads <= most || !serves_views(size, candidate, threads)) continue;
      most = *lanes = threads;
      *vec = candidate;
      found = true;
    }
    if (found) return Status::ok();
    return illegal("lanes." + axis(set_.inner).name + "=" + std::to_string(*lanes) + ": parts of " +
                   axis(set_.inner).name + " that the kernel takes would be torn between threads");
  }

  Result<uint64_t> inner_lanes(int64_t size, uint32_t vec) const {
    const std::string knob = "lanes." + knob_axis(axis(set_.inner));
    const std::string* text = config_.find(knob);
    if (text == nullptr || *text == "auto") return automatic_lanes(size, vec);
    const int64_t threads = static_cast<int64_t>(num_warps_) * kLanes;
    KAON_ASSIGN_OR_RETURN(const int64_t lanes, int_knob(config_, knob, 1, threads));
    if (!is_thread_count(static_cast<uint64_t>(lanes), num_warps_)) {
      return illegal(knob + "=" + std::to_string(lanes) +
                     " is neither a power of two up to 32 nor whole warps that divide " + std::to_string(num_warps_) +
                     " warps");
    }
    return static_cast<uint64_t>(lanes);
  }

  Status plan_inner() {
    const Axis& a = axis(set_.inner);
    KAON_ASSIGN_OR_RETURN(const int64_t size, fixed_size(set_.inner));
    uint32_t vec = 1;
    uint64_t lanes = 1;
    KAON_RETURN_IF_ERROR(choose_inner(size, &vec, &lanes));
    uint64_t repetitions = 1;
    if (size == 0) {
      KAON_ASSIGN_OR_RETURN(const RowPlan row, row_knob(config_, a));
      repetitions = static_cast<uint64_t>(row.repetitions);
    } else {
      const uint64_t step = vec * lanes;
      if (static_extent(a) == 0 && static_cast<uint64_t>(size) % step != 0) {
        return illegal("a tile of " + std::to_string(size) + " along " + a.name + " is no multiple of " +
                       std::to_string(lanes) + " threads x " + std::to_string(vec) + " elements");
      }
      repetitions = ceil_div_u(static_cast<uint64_t>(size), step);
    }
    out_.vec = vec;
    out_.inner_threads = lanes;
    inner_.axis = set_.inner;
    add_register_digit(&inner_, vec);
    add_thread_digits(&inner_, std::min<uint64_t>(lanes, kLanes), ceil_div_u(lanes, kLanes));
    add_register_digit(&inner_, repetitions);
    return finish(inner_);
  }

  Result<AxisShare> plan_outer(AxisId id) {
    AxisShare share;
    share.axis = id;
    KAON_ASSIGN_OR_RETURN(const int64_t size, fixed_size(id));
    const uint64_t lanes_left = kLanes / lane_unit_;
    const uint64_t warps_left = num_warps_ / warp_unit_;
    uint64_t lanes = lanes_left;
    uint64_t warps = warps_left;
    uint64_t repetitions = 1;
    if (size == 0) {
      KAON_ASSIGN_OR_RETURN(const RowPlan row, row_knob(config_, axis(id)));
      repetitions = static_cast<uint64_t>(row.repetitions);
    } else if (static_extent(axis(id)) > 0 && blocks_.count(id) == 0) {
      lanes = std::min(lanes_left, next_power_of_two(static_cast<uint64_t>(size)));
      const uint64_t wanted = lanes == lanes_left ? ceil_div_u(static_cast<uint64_t>(size), lanes) : 1;
      warps = 1;
      for (uint64_t w = 1; w <= wanted; ++w) {
        if (warps_left % w == 0) warps = w;
      }
      share_with_views(id, size, &lanes, &warps);
      repetitions = ceil_div_u(static_cast<uint64_t>(size), lanes * warps);
    } else {
      lanes = std::gcd(static_cast<uint64_t>(size), lanes_left);
      warps = lanes == lanes_left ? std::gcd(static_cast<uint64_t>(size) / lanes, warps_left) : 1;
      repetitions = static_cast<uint64_t>(size) / (lanes * warps);
    }
    add_thread_digits(&share, lanes, warps);
    add_register_digit(&share, repetitions);
    KAON_RETURN_IF_ERROR(finish(share));
    return share;
  }

  /// Fewer threads along an axis of constant extent, until its digits can be cut where its views want it: one always
  /// can.
  void share_with_views(AxisId id, int64_t size, uint64_t* lanes, uint64_t* warps) const {
    const auto serves = [&] {
      const uint64_t rest = ceil_div_u(static_cast<uint64_t>(size), *lanes * *warps);
      return satisfies({{static_cast<uint32_t>(*lanes), Where::kLane, 1},
                        {static_cast<uint32_t>(*warps), Where::kWarp, 1},
                        {static_cast<uint32_t>(rest), Where::kRegister, 1}},
                       needs(id));
    };
    if (needs(id).empty()) return;
    while (!serves() && *lanes * *warps > 1) {
      if (*warps > 1) {
        do --*warps;
        while (num_warps_ / warp_unit_ % *warps != 0);
      } else {
        *lanes /= 2;
      }
    }
  }

  void add_register_digit(AxisShare* share, uint64_t radix) {
    share->digits.push_back({static_cast<uint32_t>(radix), Where::kRegister, register_unit_});
    share->registers *= radix;
    register_unit_ *= static_cast<uint32_t>(radix);
  }

  void add_thread_digits(AxisShare* share, uint64_t lanes, uint64_t warps) {
    share->digits.push_back({static_cast<uint32_t>(lanes), Where::kLane, lane_unit_});
    share->digits.push_back({static_cast<uint32_t>(warps), Where::kWarp, warp_unit_});
    share->threads *= lanes * warps;
    lane_unit_ *= static_cast<uint32_t>(lanes);
    warp_unit_ *= static_cast<uint32_t>(warps);
  }

  /// The first set that has an axis decides its size; a later one must come out the same.
  Status finish(const AxisShare& share) {
    const auto size = static_cast<int64_t>(share.threads * share.registers);
    const int64_t known = blocks_.emplace(share.axis, size).first->second;
    if (known == size) return Status::ok();
    return illegal("axis " + axis(share.axis).name + " has a tile of " + std::to_string(known) +
                   " in one place and of " + std::to_string(size) + " in another; change lanes or num_warps");
  }

  const Kernel& kernel_;
  const AxisSet& set_;
  const Config& config_;
  uint32_t num_warps_;
  std::map<AxisId, int64_t>& blocks_;
  TileShares out_;
  AxisShare inner_;
  uint32_t lane_unit_ = 1;
  uint32_t warp_unit_ = 1;
  uint32_t register_unit_ = 1;
};

}  // namespace

Layout TilePlan::layout(size_t set, const std::vector<AxisId>& axes) const {
  const AxisLinks& links = *sets[set].links;
  std::vector<std::vector<Digit>> digits(axes.size());
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] == kUnitAxis) continue;
    const AxisLink& link = links.link(axes[i]);
    for (const AxisShare& member : shares[set].shares) {
      bool ok = true;
      if (member.axis == link.root) digits[i] = cut_digits(member.digits, link.low, link.high, &ok);
    }
  }
  return Layout(std::move(digits), num_warps).drop({});  // closes the gaps that the other axes' registers leave
}

namespace {

/// Tile sizes of the axes that lie on others'.
void add_linked_blocks(const Kernel& kernel, TilePlan* plan) {
  const AxisLinks& links = *plan->sets[0].links;
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    const auto axis = static_cast<AxisId>(i);
    const auto root = plan->blocks.find(links.root(axis));
    if (!links.is_linked(axis) || root == plan->blocks.end()) continue;
    const AxisLink& link = links.link(axis);
    plan->linked_blocks[axis] = (link.high == 0 ? root->second : link.high) / link.low;
  }
}

}  // namespace

Result<TilePlan> plan_tiles(const Kernel& kernel, const std::vector<AxisSet>& sets, const Config& config) {
  TilePlan plan;
  KAON_ASSIGN_OR_RETURN(const int64_t num_warps, int_knob(config, "num_warps", 1, 32));
  KAON_ASSIGN_OR_RETURN(plan.cluster, cluster_blocks(config));
  plan.num_warps = static_cast<uint32_t>(num_warps) * plan.cluster;
  plan.sets = sets;
  for (const AxisSet& set : sets) {
    KAON_ASSIGN_OR_RETURN(TileShares shares, SetPlanner(kernel, set, config, plan.num_warps, &plan.blocks).plan());
    plan.shares.push_back(std::move(shares));
  }
  if (!sets.empty()) add_linked_blocks(kernel, &plan);
  return plan;
}

Result<int64_t> int_knob(const Config& config, const std::string& knob, int64_t low, int64_t high) {
  const std::string* text = config.find(knob);
  if (text == nullptr) return illegal("knob " + knob + " has no value");
  Result<KnobValue> value = parse_knob_value(*text);
  if (!value || !value->word.empty() || value->argument < low || value->argument > high) {
    return illegal(knob + "=" + *text + ": expected an integer from " + std::to_string(low) + " to " +
                   std::to_string(high));
  }
  return value->argument;
}

Result<RowPlan> row_knob(const Config& config, const Axis& axis) {
  const std::string knob = "reduce." + knob_axis(axis);
  const std::string* text = config.find(knob);
  if (text == nullptr) return illegal("knob " + knob + " has no value");
  Result<KnobValue> value = parse_knob_value(*text);
  if (value && value->word == "resident" && value->argument >= 1 && value->argument <= kMaxRepetitions) {
    if (is_loop_version(axis)) return RowPlan{false, loop_repetitions(value->argument), 0};
    const std::vector<int64_t> versions = version_repetitions(value->argument, kMaxVersions);
    return RowPlan{true, versions[std::min(version_index(axis), versions.size() - 1)], 0};
  }
  if (value && value->word == "chunk" && value->argument <= kMaxChunk && is_power_of_two(value->argument)) {
    return RowPlan{false, 0, value->argument};
  }
  return illegal(knob + "=" + *text + ": expected resident(1..." + std::to_string(kMaxRepetitions) +
                 ") or chunk(a power of two up to " + std::to_string(kMaxChunk) + ")");
}

}  // namespace kaon::compiler
