// Following an index back to the coordinates that it is made of.
#include "compiler/ir/index_walk.h"

#include <algorithm>

namespace kaon::compiler {
namespace {

bool goes_up_by_one(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId value, AxisId axis) {
  const Op* op = definitions[static_cast<size_t>(value)];
  if (op == nullptr) return false;
  const auto steps = [&](size_t i) { return goes_up_by_one(kernel, definitions, op->operands[i], axis); };
  const auto rests = [&](size_t i) { return is_uniform_along(kernel, definitions, op->operands[i], axis); };
  switch (op->kind) {
    case OpKind::kIndex: return kernel.type(value).axes[0] == axis;
    case OpKind::kCast:
    case OpKind::kBroadcast:
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kPermute:
    case OpKind::kConvert: return steps(0);
    case OpKind::kBinary:
      if (op->str_attr("fn") == "add") return (steps(0) && rests(1)) || (rests(0) && steps(1));
      return op->str_attr("fn") == "sub" && steps(0) && rests(1);
    default: return false;
  }
}

}  // namespace

bool is_uniform_along(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId value, AxisId axis) {
  const std::vector<AxisId>& axes = kernel.type(value).axes;
  if (std::find(axes.begin(), axes.end(), axis) == axes.end()) return true;
  const Op* op = definitions[static_cast<size_t>(value)];
  if (op == nullptr) return false;
  switch (op->kind) {
    case OpKind::kConst: return true;
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kCast:
    case OpKind::kBroadcast:
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kPermute:
    case OpKind::kConvert:
      return std::all_of(op->operands.begin(), op->operands.end(),
                         [&](ValueId operand) { return is_uniform_along(kernel, definitions, operand, axis); });
    default: return false;
  }
}

AxisId unit_step_axis(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId value) {
  const std::vector<AxisId>& axes = kernel.type(value).axes;
  for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
    if (*axis != kUnitAxis && goes_up_by_one(kernel, definitions, value, *axis)) return *axis;
  }
  return kUnitAxis;
}

}  // namespace kaon::compiler
