// Choosing the axes to roll and cutting a region into loops, one per level of dependent reductions.
#include "compiler/passes/roll_reductions.h"

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "compiler/config/tile_plan.h"
#include "compiler/ir/dot_rules.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/roll_loop.h"
#include "compiler/passes/store_places.h"

namespace kaon::compiler {

namespace {

/// Rolls one axis in one region: `roots` are the region's own ops that consume values along the axis.
class RegionRoller {
 public:
  RegionRoller(Kernel& kernel, RollContext& context, Region& region)
      : kernel_(kernel), context_(context), region_(region), stores_(kernel) {}

  Status run() {
    find_levels();
    std::vector<std::unique_ptr<Op>> old = std::move(region_.ops);
    region_.ops.clear();
    const int last_loop = last_level_ + last_phase_;
    for (int level = 0; level <= last_loop; ++level) {
      emit_plain(&old, level);
      KAON_RETURN_IF_ERROR(emit_loop(old, level));
    }
    emit_plain(&old, last_loop + 1);
    for (auto& op : old) {
      if (op) context_.keep_alive(std::move(op));
    }
    return Status::ok();
  }

 private:
  struct Place {
    int level = 0;          // loop that computes it, or loops that must have run before
    bool is_along = false;  // computed lane by lane along the axis: repeated where it is needed
    bool is_root = false;   // a reduction or effect that a loop does
    int phase = 0;          // an effect: loops with effects that must have run before
  };

  int level_of(ValueId value) const {
    const auto found = value_levels_.find(value);
    return found == value_levels_.end() ? 0 : found->second;
  }

  int operand_level(const Op& op) const {
    int level = 0;
    for (const ValueId operand : op.operands) level = std::max(level, level_of(operand));
    for (const Region& region : op.regions) {
      walk(region, [&](const Op& inner, const ConstOpPlace&) {
        for (const ValueId operand : inner.operands) level = std::max(level, level_of(operand));
      });
    }
    return level;
  }

  void find_levels() {
    int effects = 0;  // effects keep their order
    int phases = 0;   // loops with effects so far
    for (const auto& op : region_.ops) {
      Place place;
      place.level = operand_level(*op);
      place.is_root = context_.is_root(*op);
      place.is_along = !place.is_root && context_.produces_along(*op);
      if (place.is_root && !is_effect(*op)) {
        const Op* maximum = context_.online_partner(*op);
        if (maximum != nullptr && places_.count(maximum) > 0) place.level = places_[maximum].level;
        last_level_ = std::max(last_level_, place.level);
        for (const ValueId result : op->results) value_levels_[result] = place.level + 1;
      } else if (place.is_root) {
        wait_for_stores(*op, &place);
        last_level_ = std::max(last_level_, place.level);
        last_phase_ = std::max(last_phase_, place.phase);
        phases = std::max(phases, place.phase + 1);
      } else {
        if (has_effects(*op)) {
          place.phase = phases;
          effects = place.level = std::max(place.level, effects);
        }
        for (const ValueId result : op->results) value_levels_[result] = place.phase > 0 ? kAfterAll : place.level;
      }
      places_[op.get()] = place;
      if (has_effects(*op)) effects_.push_back(op.get());
    }
  }

  /// Puts a store along the axis behind all earlier stores to its elements. One that walks with it stores to an element
  /// in the same turn.
  void wait_for_stores(const Op& effect, Place* place) const {
    if (effect.kind != OpKind::kStore) return;
    for (const Op* earlier : effects_) {
      if (!may_overwrite(*earlier, effect)) continue;
      const Place& before = places_.at(earlier);
      if (before.is_root) {
        place->phase = std::max(place->phase, walk_together(*earlier, effect) ? before.phase : before.phase + 1);
      } else {
        place->phase = std::max(place->phase, before.phase);
        place->level = std::max(place->level, before.level);
      }
    }
  }

  /// Whether some store of `op` may reach an element that `later` does.
  bool may_overwrite(const Op& op, const Op& later) const {
    const auto meets = [&](const Op& store) {
      return store.kind == OpKind::kStore && store.int_attr("tensor") == later.int_attr("tensor") &&
             !stores_.are_apart(store, later);
    };
    bool found = meets(op);
    for (const Region& region : op.regions) {
      walk(region, [&](const Op& inner, const ConstOpPlace&) { found = found || meets(inner); });
    }
    return found;
  }

  bool walk_together(const Op& a, const Op& b) const {
    const std::vector<Indexer>& index = a.index_attr("index");
    for (size_t dim = 0; dim < index.size(); ++dim) {
      if (index[dim].kind == Indexer::Kind::kAxis && index[dim].axis == context_.axis() &&
          stores_.walk_together(a, b, dim))
        return true;
    }
    return false;
  }

  static bool has_effects(const Op& op) {
    bool found = is_effect(op);
    for (const Region& region : op.regions) {
      walk(region, [&](const Op& inner, const ConstOpPlace&) { found = found || is_effect(inner); });
    }
    return found;
  }

  /// Where an op is emitted: the number of the loop that does it or comes next.
  int position(const Op& op) const {
    const Place& place = places_.at(&op);
    if (op.kind == OpKind::kYield) return last_level_ + last_phase_ + 1;
    if (place.is_root && is_effect(op)) return last_level_ + place.phase;
    if (place.phase > 0) return last_level_ + place.phase;
    return std::min(place.level, last_level_ + 1);
  }

  /// Ops that do not run along the axis and are ready before loop `level`.
  void emit_plain(std::vector<std::unique_ptr<Op>>* old, int level) {
    for (auto& op : *old) {
      if (!op || places_[op.get()].is_along || places_[op.get()].is_root || position(*op) != level) continue;
      region_.ops.push_back(std::move(op));
    }
  }

  Status emit_loop(const std::vector<std::unique_ptr<Op>>& old, int level) {
    std::vector<const Op*> roots;
    for (const auto& op : old) {
      if (op && places_[op.get()].is_root && position(*op) == level) roots.push_back(op.get());
    }
    if (roots.empty()) return Status::ok();
    return emit_rolled_loop(kernel_, context_, region_, roots);
  }

  static constexpr int kAfterAll = 1 << 20;
  Kernel& kernel_;
  RollContext& context_;
  Region& region_;
  std::map<const Op*, Place> places_;
  std::map<ValueId, int> value_levels_;
  StorePlaces stores_;
  std::vector<const Op*> effects_;  // so far
  int last_level_ = 0;
  int last_phase_ = 0;
};

/// Regions that hold roots of the axis, outermost first, in program order.
void collect_regions(Region& region, const RollContext& context, std::vector<Region*>* out) {
  const bool has_root =
      std::any_of(region.ops.begin(), region.ops.end(), [&](const auto& op) { return context.is_root(*op); });
  if (has_root) out->push_back(&region);
  for (const auto& op : region.ops) {
    for (Region& inner : op->regions) collect_regions(inner, context, out);
  }
}

/// Axes along which a loop over `axis` would carry values: those that a fold or scan of it leaves, and the rows and
/// columns of a product over it.
std::set<AxisId> carried_along(const Kernel& kernel, AxisId axis) {
  std::set<AxisId> out;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind == OpKind::kDot && dot_axis(kernel, op) == axis) {
      const std::vector<AxisId>& kept = kernel.type(op.result()).axes;
      out.insert(kept.begin(), kept.end());
    }
    std::vector<int64_t> dims;
    if (op.kind == OpKind::kReduce || op.kind == OpKind::kFold) dims = op.ints_attr("dims");
    if (op.kind == OpKind::kScan) dims = {op.int_attr("dim")};
    if (dims.empty()) return;
    std::vector<AxisId> axes = kernel.type(op.operands[0]).axes;
    bool goes_along = false;
    for (const int64_t dim : dims) {
      goes_along = goes_along || axes[static_cast<size_t>(dim)] == axis;
      axes[static_cast<size_t>(dim)] = kUnitAxis;
    }
    if (goes_along) out.insert(axes.begin(), axes.end());
  });
  return out;
}

/// Rolls an axis behind those along which its loop would carry values, so that it carries a chunk of them.
std::vector<AxisId> in_rolling_order(const Kernel& kernel, std::vector<AxisId> axes) {
  std::vector<AxisId> ordered;
  while (!axes.empty()) {
    auto next = std::find_if(axes.begin(), axes.end(), [&](AxisId axis) {
      const std::set<AxisId> first = carried_along(kernel, axis);
      return std::none_of(axes.begin(), axes.end(),
                          [&](AxisId other) { return other != axis && first.count(other) > 0; });
    });
    if (next == axes.end()) next = axes.begin();
    ordered.push_back(*next);
    axes.erase(next);
  }
  return ordered;
}

Status roll_axis(Kernel& kernel, AxisId axis) {
  RollContext context(kernel, axis);
  KAON_RETURN_IF_ERROR(context.check());
  Axis& a = kernel.axis(axis);
  a.kind = AxisKind::kTile;
  a.begin = Expr(0);
  std::vector<Region*> regions;
  collect_regions(kernel.body, context, &regions);
  for (Region* region : regions) KAON_RETURN_IF_ERROR(RegionRoller(kernel, context, *region).run());
  erase_dead_ops(kernel);
  return Status::ok();
}

}  // namespace

Status roll_reductions(Kernel& kernel, const Target&) {
  std::vector<AxisId> rolled;
  for (const AxisSet& set : find_axis_sets(kernel)) {
    for (const AxisId id : set.axes) {
      const Axis& axis = kernel.axis(id);
      if (!is_row_axis(axis) || std::find(rolled.begin(), rolled.end(), id) != rolled.end()) continue;
      KAON_ASSIGN_OR_RETURN(const RowPlan row, row_knob(kernel.config, axis));
      if (!row.resident) rolled.push_back(id);
    }
  }
  for (const AxisId axis : in_rolling_order(kernel, std::move(rolled))) {
    KAON_RETURN_IF_ERROR(roll_axis(kernel, axis));
  }
  return Status::ok();
}

}  // namespace kaon::compiler
