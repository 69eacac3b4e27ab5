// Checks layouts of values and the layout rule of each op.
#include "compiler/ir/layout_rules.h"

#include <algorithm>

#include "compiler/ir/bug.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

std::string layout_text(const Layout& layout) { return layout.empty() ? "no layout" : layout.to_string(); }

Status expect_layout(const Kernel& kernel, ValueId value, const Layout& expected) {
  if (kernel.type(value).is_scalar() || kernel.layout(value) == expected) return Status::ok();
  return bug("layout of " + value_text(value) + ": expected " + layout_text(expected) + ", got " +
             layout_text(kernel.layout(value)));
}

Status check_broadcast(const Kernel& kernel, const Op& op) {
  const Type& from = kernel.type(op.operands[0]);
  const Type& to = kernel.type(op.result());
  std::vector<int64_t> dims;
  for (size_t i = 0; i < from.axes.size(); ++i) {
    if (from.axes[i] == to.axes[i]) continue;
    // Partial results spread within each thread: the operand keeps the lane and warp digits of the dim.
    if (from.axes[i] != kUnitAxis) return Status::ok();
    dims.push_back(static_cast<int64_t>(i));
  }
  return expect_layout(kernel, op.operands[0], kernel.layout(op.result()).drop(dims));
}

Status check_pick(const Kernel& kernel, const Op& op) {
  const size_t expected = 2 * static_cast<size_t>(kernel.layout(op.result()).num_registers());
  const size_t got = op.ints_attr("registers").size();
  if (got == expected) return Status::ok();
  return bug("attribute registers: expected " + std::to_string(expected) + " numbers, got " + std::to_string(got));
}

Status check_shared(const Kernel& kernel, const Op& op, ValueId value) {
  const SharedBuffer& buffer = kernel.shared_buffers[static_cast<size_t>(op.int_attr("buffer"))];
  uint64_t bytes = static_cast<uint64_t>(dtype_bytes(kernel.type(value).dtype));
  if (op.find_attr("strides")) {
    const size_t rank = op.ints_attr("strides").size();
    if (static_cast<int>(rank) == kernel.type(value).rank() && bytes <= buffer.bytes) return Status::ok();
    return bug("attribute strides: expected one for each dim of " + value_text(value) + ", got " +
               std::to_string(rank));
  }
  for (int i = 0; i < kernel.layout(value).rank(); ++i) bytes *= kernel.layout(value).capacity(i);
  if (bytes <= buffer.bytes) return Status::ok();
  return bug("buffer " + buffer.name + " has " + std::to_string(buffer.bytes) + " bytes, " + value_text(value) +
             " needs " + std::to_string(bytes));
}

}  // namespace

Status check_value_layout(const Kernel& kernel, ValueId value, const std::vector<int64_t>& folded_dims) {
  const Type& type = kernel.type(value);
  const Layout& layout = kernel.layout(value);
  const std::string who = "layout of " + value_text(value) + ": ";
  if (type.is_scalar())
    return layout.rank() == 0 ? Status::ok() : bug(who + "a scalar has none, got " + layout_text(layout));
  if (layout.empty()) return bug(who + "expected one for " + type_text(kernel, type) + ", got none");
  if (layout.rank() != type.rank()) {
    return bug(who + "expected rank " + std::to_string(type.rank()) + ", got " + layout_text(layout));
  }
  const std::string why = layout.why_illegal();
  if (!why.empty()) return bug(who + why);
  if (static_cast<int>(layout.num_warps()) != kernel.num_warps) {
    return bug(who + "expected " + std::to_string(kernel.num_warps) + " warps, got " + layout_text(layout));
  }
  for (int dim = 0; dim < type.rank(); ++dim) {
    if (std::find(folded_dims.begin(), folded_dims.end(), dim) != folded_dims.end()) continue;
    const AxisId axis = type.axes[static_cast<size_t>(dim)];
    const uint64_t expected = axis == kUnitAxis ? 1 : static_cast<uint64_t>(kernel.axis(axis).block);
    if (layout.capacity(dim) != expected) {
      return bug(who + "expected capacity " + std::to_string(expected) + " for dim " + std::to_string(dim) + " of " +
                 type_text(kernel, type) + ", got " + std::to_string(layout.capacity(dim)) + " in " +
                 layout_text(layout));
    }
  }
  return Status::ok();
}

Status check_op_layouts(const Kernel& kernel, const Op& op) {
  auto operand_layout = [&]() -> const Layout& { return kernel.layout(op.operands[0]); };
  switch (op.kind) {
    case OpKind::kUnary:
    case OpKind::kBinary:
    case OpKind::kCompare:
    case OpKind::kSelect:
    case OpKind::kCast:
    case OpKind::kReuse:
    case OpKind::kRetile:
    case OpKind::kMerge:
      for (ValueId operand : op.operands)
        KAON_RETURN_IF_ERROR(expect_layout(kernel, operand, kernel.layout(op.result())));
      return Status::ok();
    case OpKind::kDot:
      return op.operands.size() < 3 ? Status::ok() : expect_layout(kernel, op.operands[2], kernel.layout(op.result()));
    case OpKind::kDotShared:
      return op.operands.empty() ? Status::ok() : expect_layout(kernel, op.operands[0], kernel.layout(op.result()));
    case OpKind::kExpandDims:
      if (kernel.type(op.operands[0]).is_scalar()) return Status::ok();
      return expect_layout(kernel, op.result(), operand_layout().expand_dims(static_cast<int>(op.int_attr("dim"))));
    case OpKind::kSqueeze:
      return expect_layout(kernel, op.result(), operand_layout().squeeze(static_cast<int>(op.int_attr("dim"))));
    case OpKind::kPermute: return expect_layout(kernel, op.result(), operand_layout().permute(op.ints_attr("perm")));
    case OpKind::kBroadcast: return check_broadcast(kernel, op);
    case OpKind::kPick: return check_pick(kernel, op);
    case OpKind::kSharedStore: return check_shared(kernel, op, op.operands[0]);
    case OpKind::kSharedLoad: return check_shared(kernel, op, op.result());
    default: return Status::ok();
  }
}

}  // namespace kaon::compiler
