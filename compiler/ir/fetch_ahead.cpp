// Walking back from a load to what its address is made of.
#include "compiler/ir/fetch_ahead.h"

#include <algorithm>
#include <map>
#include <string>

#include "compiler/ir/bug.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

int64_t walked_axis(const Op& loop) {
  return loop.kind == OpKind::kTile ? loop.ints_attr("axes").back() : loop.int_attr("axis", kUnitAxis);
}

class Slicer {
 public:
  Slicer(const Kernel& kernel, const Op& loop) : kernel_(kernel), axis_(walked_axis(loop)) {
    const Region& body = loop.regions[0];
    for (const ValueId arg : body.args) inner_[arg] = nullptr;
    for (size_t i = 0; i < body.ops.size(); ++i) {
      for (const ValueId result : body.ops[i]->results) inner_[result] = body.ops[i].get();
      places_[body.ops[i].get()] = i;
    }
  }

  std::vector<const Op*> slice(const Op& load) {
    if (!take(load) || !moves_) return {};
    std::sort(ops_.begin(), ops_.end(), [&](const Op* a, const Op* b) { return places_[a] < places_[b]; });
    return ops_;
  }

 private:
  /// Takes `op` and what it needs of the body; false when some of that cannot be repeated.
  bool take(const Op& op) {
    if (std::find(ops_.begin(), ops_.end(), &op) != ops_.end()) return true;
    ops_.push_back(&op);
    moves_ = moves_ || op.int_attr("axis", kUnitAxis) == axis_;
    for (const ValueId result : op.results) {
      for (const AxisId axis : kernel_.type(result).axes) {
        if (!is_known(axis)) return false;
      }
    }
    for (const ValueId operand : op.operands) {
      const auto found = inner_.find(operand);
      if (found == inner_.end()) continue;
      if (found->second == nullptr || !can_repeat(found->second->kind) || !take(*found->second)) return false;
    }
    return true;
  }

  /// Whether the bounds of the axis are known before the loop.
  bool is_known(AxisId id) {
    if (id == kUnitAxis) return true;
    moves_ = moves_ || id == axis_;
    const Axis& axis = kernel_.axis(id);
    const ValueId bounds[] = {axis.begin_value, axis.extent_value, axis.origin, axis.lengths};
    return std::all_of(std::begin(bounds), std::end(bounds), [&](ValueId bound) { return inner_.count(bound) == 0; });
  }

  const Kernel& kernel_;
  const int64_t axis_;
  std::map<ValueId, const Op*> inner_;  // values of the body by their op; null: what the loop carries
  std::map<const Op*, size_t> places_;
  std::vector<const Op*> ops_;
  bool moves_ = false;  // reads something that the turn changes
};

}  // namespace

bool can_repeat(OpKind kind) {
  if (is_elementwise(kind)) return true;
  switch (kind) {
    case OpKind::kConst:
    case OpKind::kExpr:
    case OpKind::kIndex:
    case OpKind::kAxisInfo:
    case OpKind::kRetile:
    case OpKind::kPick: return true;
    default: return false;
  }
}

bool is_never_written(const Kernel& kernel, int64_t tensor) {
  const auto& tensors = kernel.signature.tensors;
  const TensorParam& param = tensors[static_cast<size_t>(tensor)];
  return !param.is_output &&
         std::none_of(tensors.begin(), tensors.end(), [&](const TensorParam& t) { return t.aliases == param.name; });
}

std::vector<const Op*> fetch_slice(const Kernel& kernel, const Op& loop, const Op& load) {
  if (load.kind != OpKind::kLoad || !is_never_written(kernel, load.int_attr("tensor"))) return {};
  return Slicer(kernel, loop).slice(load);
}

bool is_innermost(const Op& loop) {
  bool innermost = true;
  for (const Region& region : loop.regions) {
    walk(region, [&](const Op& op, const ConstOpPlace&) {
      const bool is_loop = op.kind == OpKind::kLoop || op.kind == OpKind::kTile || op.kind == OpKind::kWhile;
      innermost = innermost && !is_loop;
    });
  }
  return innermost;
}

Status check_schedule(const Kernel& kernel, const Op& loop) {
  const int64_t stages = loop.int_attr("stages", 1);
  const int64_t unroll = loop.int_attr("unroll", 1);
  if (stages < 1 || unroll < 1) return bug("attributes stages and unroll are at least 1");
  if (stages > 1 && unroll > 1) return bug("a loop in stages repeats its body already, so it has no attribute unroll");
  if (stages > 1 && !is_innermost(loop)) return bug("attribute stages: only a loop without loops in it has stages");
  bool any = false;
  for (const auto& op : loop.regions[0].ops) {
    if (op->int_attr("ahead") == 0) continue;
    any = true;
    if (fetch_slice(kernel, loop, *op).empty()) {
      return bug("attribute ahead: a " + std::string(op_info(op->kind).text) + " that must wait for its turn");
    }
  }
  if (any == (stages > 1)) return Status::ok();
  return bug(any ? "a load ahead needs a loop with attribute stages" : "attribute stages: no load is ahead");
}

}  // namespace kaon::compiler
