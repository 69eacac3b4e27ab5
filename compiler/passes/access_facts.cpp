// Reading indexers, layouts and divisors.
#include "compiler/passes/access_facts.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace kaon::compiler {

namespace {

int64_t slot_divisor(const Kernel& kernel, int slot) {
  int64_t divisor = 1;
  for (const Guard& guard : kernel.guards) {
    if (guard.slot != slot) continue;
    if (guard.kind == GuardKind::kEqual) return guard.value;
    if (guard.kind == GuardKind::kDivisible) divisor = std::lcm(divisor, guard.value);
  }
  return divisor;
}

/// Divisor of a scalar operand that is added to coordinates: 1 when nothing is known.
int64_t value_divisor(const Kernel& kernel, const Op* definition) {
  if (definition == nullptr) return 1;
  if (definition->kind == OpKind::kConst) return std::abs(definition->int_attr("value", 1));
  if (definition->kind == OpKind::kExpr) return known_divisor(kernel, std::get<Expr>(*definition->find_attr("expr")));
  if (definition->kind == OpKind::kAxisInfo && definition->str_attr("what") == "begin") {
    const Axis& axis = kernel.axis(static_cast<AxisId>(definition->int_attr("axis")));
    if (axis.begin_value != kNoValue) return 1;
    return std::gcd(known_divisor(kernel, axis.begin), axis.block);
  }
  return 1;
}

}  // namespace

int64_t known_divisor(const Kernel& kernel, const Expr& expr) {
  std::vector<int64_t> stack;
  for (const ExprStep& step : expr.steps()) {
    if (step.op == ExprOp::kConst) {
      stack.push_back(std::abs(step.operand));
    } else if (step.op == ExprOp::kSlot) {
      stack.push_back(slot_divisor(kernel, static_cast<int>(step.operand)));
    } else {
      const int64_t b = stack.back();
      stack.pop_back();
      int64_t& a = stack.back();
      switch (step.op) {
        case ExprOp::kAdd:
        case ExprOp::kSub:
        case ExprOp::kMin:
        case ExprOp::kMax: a = std::gcd(a, b); break;
        case ExprOp::kMul: a = (a == 0 || b == 0) ? 0 : a * b; break;
        default: a = 1; break;
      }
    }
  }
  return stack.back();
}

AccessFacts access_facts(const Kernel& kernel, const std::vector<const Op*>& definitions, const Op& op) {
  AccessFacts facts;
  facts.tensor = static_cast<int>(op.int_attr("tensor"));
  facts.tile = op.kind == OpKind::kLoad ? op.result() : op.operands[0];
  const auto& index = op.index_attr("index");
  if (index.empty() || index.back().kind != Indexer::Kind::kAxis) return facts;
  const AxisId id = index.back().axis;
  for (size_t i = 0; i + 1 < index.size(); ++i) {
    const bool by_axis = index[i].kind == Indexer::Kind::kAxis && index[i].axis == id;
    bool by_tile = false;
    if (index[i].kind == Indexer::Kind::kTile) {
      const auto& axes = kernel.type(op.operands[static_cast<size_t>(index[i].operand)]).axes;
      by_tile = std::find(axes.begin(), axes.end(), id) != axes.end();
    }
    if (by_axis || by_tile) return facts;  // a diagonal: neighbours on the axis are no neighbours in memory
  }
  const Axis& axis = kernel.axis(id);
  const auto& axes = kernel.type(facts.tile).axes;
  facts.axis = id;
  facts.dim = static_cast<int>(std::find(axes.begin(), axes.end(), id) - axes.begin());
  facts.contiguous = kernel.layout(facts.tile).contiguous(facts.dim);
  if (axis.kind == AxisKind::kTile) {
    facts.start_divisor = axis.begin_value != kNoValue ? 1 : known_divisor(kernel, axis.begin);
    facts.start_divisor = std::gcd(facts.start_divisor, axis.block);
  }
  if (index.back().operand >= 0) {
    const ValueId added = op.operands[static_cast<size_t>(index.back().operand)];
    facts.start_divisor = std::gcd(facts.start_divisor, value_divisor(kernel, definitions[static_cast<size_t>(added)]));
  }
  const auto& extents = kernel.signature.tensors[static_cast<size_t>(facts.tensor)].extents;
  facts.extent_differs = index.back().operand >= 0 || axis.extent_value != kNoValue || !(extents.back() == axis.extent);
  return facts;
}

}  // namespace kaon::compiler
