// Recognising what is computed along an axis, and the sum that can share the loop of its maximum.
#include <algorithm>
#include <string>
#include <utility>

#include "compiler/config/row_versions.h"
#include "compiler/ir/combine.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/roll_loop.h"

namespace kaon::compiler {

RollContext::RollContext(Kernel& kernel, AxisId axis) : kernel_(kernel), axis_(axis), partials_(kernel) {
  walk(std::as_const(kernel.body), [&](const Op& op, const ConstOpPlace&) {
    for (const ValueId result : op.results) definitions_[result] = &op;
  });
}

bool RollContext::is_along(ValueId value) const {
  const auto& axes = kernel_.type(value).axes;
  return std::find(axes.begin(), axes.end(), axis_) != axes.end();
}

bool RollContext::is_root(const Op& op) const {
  switch (op.kind) {
    case OpKind::kStore:
    case OpKind::kAtomic:
    case OpKind::kAssert:
    case OpKind::kPrint:
      return std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId value) { return is_along(value); });
    case OpKind::kReduce:
    case OpKind::kReduceThread:
    case OpKind::kDot:
    case OpKind::kFold:
    case OpKind::kFoldThread: return is_along(op.operands[0]) && !is_along(op.result());
    default: return false;
  }
}

bool RollContext::produces_along(const Op& op) const {
  return std::any_of(op.results.begin(), op.results.end(), [&](ValueId value) { return is_along(value); });
}

const Op* RollContext::definition(ValueId value) const {
  const auto found = definitions_.find(value);
  return found == definitions_.end() ? nullptr : found->second;
}

const Op* RollContext::online_partner(const Op& op) const {
  if (op.kind != OpKind::kReduce || op.str_attr("fn") != "sum" || op.ints_attr("dims").size() != 1) return nullptr;
  // Rescaling is exact enough where exponentials are: at f32 and wider.
  if (dtype_bytes(kernel_.type(op.result()).dtype) < 4) return nullptr;
  const Op* exponential = definition(op.operands[0]);
  if (exponential == nullptr || exponential->kind != OpKind::kUnary) return nullptr;
  const std::string fn = exponential->str_attr("fn");
  if (fn != "exp" && fn != "exp2") return nullptr;
  const Op* difference = definition(exponential->operands[0]);
  if (difference == nullptr || difference->kind != OpKind::kBinary || difference->str_attr("fn") != "sub")
    return nullptr;
  const Op* spread = definition(difference->operands[1]);
  if (spread == nullptr || spread->kind != OpKind::kBroadcast) return nullptr;
  const Op* source = definition(spread->operands[0]);
  if (source != nullptr && source->kind == OpKind::kExpandDims && source->int_attr("dim") == op.ints_attr("dims")[0]) {
    source = definition(source->operands[0]);
  }
  if (source == nullptr || source->kind != OpKind::kReduce || source->str_attr("fn") != "max") return nullptr;
  if (source->operands[0] != difference->operands[0] || source->ints_attr("dims") != op.ints_attr("dims"))
    return nullptr;
  return is_root(*source) ? source : nullptr;
}

/// A view along the axis: its operand is along the axis and its result is not, or the other way round.
bool RollContext::cuts_axis(const Op& op) const {
  if (op.kind != OpKind::kReshape && op.kind != OpKind::kSlice && op.kind != OpKind::kConcat) return false;
  const bool from = is_along(op.operands[0]);
  const bool any = std::any_of(op.operands.begin(), op.operands.end(), [&](ValueId value) { return is_along(value); });
  return any != from || from != is_along(op.result());
}

Status RollContext::check() const {
  Status status;
  const Axis& axis = kernel_.axis(axis_);
  const std::vector<int> uses = count_uses(kernel_);
  walk(std::as_const(kernel_.body), [&](const Op& op, const ConstOpPlace&) {
    if (!status || is_combining(op.kind)) return;
    bool carried = false;
    for (const Region& region : op.regions) {
      for (const ValueId arg : region.args) carried = carried || is_along(arg);
    }
    if (!op.regions.empty()) carried = carried || produces_along(op);
    if (op.kind == OpKind::kAtomic && is_along(op.result()) && uses[static_cast<size_t>(op.result())] > 0) {
      status = Status(Code::kIllegalConfig, walking_knob(axis) + ": old values of an atomic along " + knob_axis(axis) +
                                                " are used, so the row must be resident(r)");
      return;
    }
    if (cuts_axis(op)) {
      status = Status(Code::kIllegalConfig, walking_knob(axis) + ": the kernel cuts or regroups a value along " +
                                                knob_axis(axis) +
                                                " that no load gives part by part, so the row must be resident(r)");
      return;
    }
    if (carried) {
      status = Status(Code::kIllegalConfig, walking_knob(axis) + ": values along " + knob_axis(axis) +
                                                " are carried by a loop or branch, so the row must be resident(r)");
    }
  });
  return status;
}

}  // namespace kaon::compiler
