// Cloning what leads from a load to its uses behind a reduction.
#include "compiler/passes/keep_inputs.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "compiler/config/axis_sets.h"
#include "compiler/config/row_versions.h"
#include "compiler/passes/guards.h"

namespace kaon::compiler {

namespace {

/// One row axis. Reductions over it cut a region into rounds; no value computed along the axis from loads is used in a
/// later round than its own.
class InputKeeper {
 public:
  InputKeeper(Kernel& kernel, AxisId axis, int64_t slot) : kernel_(kernel), axis_(axis), slot_(slot) {}

  void run(Region* region) {
    for (const auto& op : region->ops) {
      for (Region& inner : op->regions) run(&inner);
    }
    sources_.clear();
    roots_.clear();
    latest_.clear();
    clones_.clear();
    out_.clear();
    int64_t round = 0;
    std::vector<std::unique_ptr<Op>> old = std::move(region->ops);
    for (auto& op : old) {
      if (round > 0) use_clones(op.get(), round);
      const bool ends_round = folds_axis(*op);
      for (const ValueId result : op->results) note_source(*op, result, round);
      out_.push_back(std::move(op));
      if (ends_round) ++round;
    }
    region->ops = std::move(out_);
  }

 private:
  struct Source {
    const Op* op = nullptr;
    int64_t round = 0;
  };

  bool is_along(ValueId value) const {
    const auto& axes = kernel_.type(value).axes;
    return std::find(axes.begin(), axes.end(), axis_) != axes.end();
  }

  bool folds_axis(const Op& op) const {
    return (op.kind == OpKind::kReduce || op.kind == OpKind::kReduceThread) && is_along(op.operands[0]) &&
           !is_along(op.result());
  }

  /// Remembers values along the axis that lead back to a load of short elements.
  void note_source(const Op& op, ValueId result, int64_t round) {
    if (!is_along(result)) return;
    const bool loads = op.kind == OpKind::kLoad && dtype_bytes(kernel_.type(result).dtype) < 4;
    const bool derives = is_elementwise(op.kind) && std::any_of(op.operands.begin(), op.operands.end(),
                                                                [&](ValueId v) { return sources_.count(v) > 0; });
    if (loads || derives) sources_[result] = {&op, round};
  }

  void use_clones(Op* op, int64_t round) {
    for (ValueId& operand : op->operands) operand = value_in(operand, round);
    for (Region& inner : op->regions) {
      for (const auto& nested : inner.ops) use_clones(nested.get(), round);
    }
  }

  /// What stands for `value` in `round`.
  ValueId value_in(ValueId value, int64_t round) {
    const auto source = sources_.find(value);
    if (source == sources_.end() || source->second.round == round) return value;
    // The same registers round after round: a reuse takes the place of the one before.
    const auto root = roots_.find(value);
    if (root != roots_.end()) return value_in(root->second, round);
    const auto known = clones_.find({value, round});
    if (known != clones_.end()) return known->second;
    const Op& original = *source->second.op;
    auto clone = std::make_unique<Op>();
    clone->range = original.range;
    if (original.kind == OpKind::kLoad) {
      clone->kind = OpKind::kReuse;
      const auto latest = latest_.find(value);
      clone->operands = {latest == latest_.end() ? value : latest->second};
      clone->set_attr("slot", slot_);
      clone->set_attr("round", round - 1);
    } else {
      clone->kind = original.kind;
      clone->attrs = original.attrs;
      for (const ValueId operand : original.operands) clone->operands.push_back(value_in(operand, round));
    }
    const ValueInfo info = kernel_.values[static_cast<size_t>(value)];
    const ValueId result = kernel_.new_value(info.type, info.name);
    kernel_.layout(result) = info.layout;
    clone->results = {result};
    sources_[result] = {clone.get(), round};
    if (original.kind == OpKind::kLoad) {
      roots_[result] = value;
      latest_[value] = result;
    }
    out_.push_back(std::move(clone));
    clones_[{value, round}] = result;
    return result;
  }

  Kernel& kernel_;
  AxisId axis_;
  int64_t slot_;
  std::map<ValueId, Source> sources_;
  std::map<ValueId, ValueId> roots_;   // the load behind each reuse
  std::map<ValueId, ValueId> latest_;  // the last reuse of each load
  std::map<std::pair<ValueId, int64_t>, ValueId> clones_;
  std::vector<std::unique_ptr<Op>> out_;
};

/// A slot whose high half is zero in every call: the axis's own extent if it is one, else any with a guard for it.
int64_t small_extent_slot(Kernel& kernel, const Axis& axis) {
  const auto form = linear_form(axis.extent);
  const int first = kernel.signature.dim_slot(0);
  const auto num_dims = static_cast<int>(kernel.signature.dims.size());
  const bool is_dim = form && form->slot >= first && form->slot < first + num_dims;
  const int slot = is_dim ? form->slot : first;
  add_guard(kernel, {GuardKind::kAtMost, static_cast<uint16_t>(slot), 0, INT32_MAX});
  return slot;
}

}  // namespace

Status keep_inputs(Kernel& kernel, const Target&) {
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    const Axis axis = kernel.axes[i];
    const bool resident = axis.kind == AxisKind::kFull;
    if (!resident || kernel.config.get("keep." + knob_axis(axis), "values") != "input") continue;
    if (kernel.signature.dims.empty()) {
      return Status(Code::kIllegalConfig, "keep." + axis.name + "=input needs an extent that the call brings along");
    }
    InputKeeper(kernel, static_cast<AxisId>(i), small_extent_slot(kernel, axis)).run(&kernel.body);
  }
  return Status::ok();
}

}  // namespace kaon::compiler
