// Following sums back to the products that they are made of.
#include "compiler/oracle/fusion.h"

#include <algorithm>
#include <cmath>

#include "compiler/ir/functions.h"
#include "compiler/ir/updates.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

bool is_view(OpKind kind) {
  switch (kind) {
    case OpKind::kExpandDims:
    case OpKind::kSqueeze:
    case OpKind::kBroadcast:
    case OpKind::kPermute:
    case OpKind::kRetile:
    case OpKind::kReshape:
    case OpKind::kSlice:
    case OpKind::kConcat: return true;
    default: return false;
  }
}

bool adds(const Op& op) {
  const std::string fn = op.str_attr("fn");
  if (op.kind == OpKind::kReduce) return fn == "sum";
  return (op.kind == OpKind::kBinary || is_update(op)) && (fn == "add" || fn == "sub");
}

}  // namespace

std::vector<bool> fusable_products(const Kernel& kernel) {
  std::vector<bool> is_added(kernel.values.size(), false);
  std::vector<const Op*> ops;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) { ops.push_back(&op); });
  // Values are used behind their definitions, so that one walk back sees every use before the op itself.
  for (auto op = ops.rbegin(); op != ops.rend(); ++op) {
    const bool negates = (*op)->kind == OpKind::kUnary && (*op)->str_attr("fn") == "neg";
    const bool passes_on = (is_view((*op)->kind) || negates) && is_added[static_cast<size_t>((*op)->result())];
    if (!adds(**op) && !passes_on) continue;
    for (const ValueId operand : (*op)->operands) is_added[static_cast<size_t>(operand)] = true;
  }
  std::vector<bool> fusable(kernel.values.size(), false);
  for (const Op* op : ops) {
    if (op->kind != OpKind::kBinary || op->str_attr("fn") != "mul") continue;
    const DType dtype = kernel.type(op->result()).dtype;
    const auto result = static_cast<size_t>(op->result());
    fusable[result] = is_added[result] && (dtype == DType::kF32 || dtype == DType::kF64);
  }
  return fusable;
}

void doubt_overflows(const Tile& a, const Tile& b, Tile* product) {
  for (size_t i = 0; i < product->count; ++i) {
    if (!std::isinf(product->floats[i]) || !std::isfinite(a.floats[i]) || !std::isfinite(b.floats[i])) continue;
    if (product->exact) {
      product->need_bounds();
      std::fill(product->bounds.begin(), product->bounds.begin() + static_cast<ptrdiff_t>(product->count), 0.0);
      product->exact = false;
    }
    product->bounds[i] = kUnknown;
  }
}

}  // namespace kaon::compiler
