// One device loop along a rolled axis: which ops belong to it, and its body.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/passes/partials.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// Done for what it does: a store, an atomic, an assert or a print.
inline bool is_effect(const Op& op) {
  const OpKind kind = op.kind;
  return kind == OpKind::kStore || kind == OpKind::kAtomic || kind == OpKind::kAssert || kind == OpKind::kPrint;
}

/// What rolling one axis must know of the kernel as it was before.
class RollContext {
 public:
  RollContext(Kernel& kernel, AxisId axis);

  AxisId axis() const { return axis_; }
  bool is_along(ValueId value) const;
  /// A reduction over the axis, or an effect of values along it.
  bool is_root(const Op& op) const;
  /// Defines values along the axis.
  bool produces_along(const Op& op) const;
  /// For a sum of exp(x - max(x)) over the axis alone: the reduction that gives the maximum, else null.
  const Op* online_partner(const Op& op) const;
  /// kIllegalConfig when the axis is used in a way that no loop can walk.
  Status check() const;
  bool cuts_axis(const Op& op) const;

  const Op* definition(ValueId value) const;
  PartialAxes& partials() { return partials_; }
  /// Ops that left the kernel but whose copies may still be made.
  void keep_alive(std::unique_ptr<Op> op) { removed_.push_back(std::move(op)); }

 private:
  Kernel& kernel_;
  AxisId axis_;
  std::map<ValueId, const Op*> definitions_;
  std::vector<std::unique_ptr<Op>> removed_;
  PartialAxes partials_;
};

/// Appends a loop over the axis that does `roots` (all of one level, in program order), and behind it the ops that
/// finish their results.
Status emit_rolled_loop(Kernel& kernel, RollContext& context, Region& region, const std::vector<const Op*>& roots);

}  // namespace kaon::compiler
