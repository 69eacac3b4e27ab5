// Reading dots off a kernel, and adding up what they hold.
#include "compiler/config/dot_plan.h"

#include <algorithm>

#include "compiler/ir/dot_rules.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

constexpr int64_t kPiece = 16;  // bytes of the widest access

Layout planned_layout(const Kernel& kernel, const TilePlan& plan, ValueId value) {
  const std::vector<AxisId>& axes = kernel.type(value).axes;
  const int set = home_set(plan.sets, axes);
  if (set < 0) return Layout(std::vector<std::vector<Digit>>(axes.size()), plan.num_warps);
  return plan.layout(static_cast<size_t>(set), axes);
}

}  // namespace

DotAxes find_dot_axes(const Kernel& kernel) {
  DotAxes out;
  std::set<AxisId> summed, kept;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind != OpKind::kDot) return;
    summed.insert(dot_axis(kernel, op));
    const auto& axes = kernel.type(op.result()).axes;
    kept.insert(axes.end() - 2, axes.end());
  });
  kept.erase(kUnitAxis);
  if (summed.empty()) return out;
  const AxisLinks links = find_axis_links(kernel);
  for (const AxisId axis : summed) out.summed.insert(links.root(axis));
  for (const AxisId axis : kept) out.kept.insert(links.root(axis));
  return out;
}

DotBuffer plan_dot_buffer(const Layout& layout, DType dtype) {
  const int rank = layout.rank();
  const int64_t bytes = dtype_bytes(dtype);
  const int inner = layout.contiguous(rank - 2) > layout.contiguous(rank - 1) ? rank - 2 : rank - 1;
  const int other = inner == rank - 1 ? rank - 2 : rank - 1;
  int64_t pieces = (static_cast<int64_t>(layout.capacity(inner)) * bytes + kPiece - 1) / kPiece;
  if (pieces % 2 == 0) ++pieces;
  DotBuffer out;
  out.strides.assign(static_cast<size_t>(rank), 0);
  int64_t stride = pieces * kPiece / bytes;
  out.strides[static_cast<size_t>(inner)] = 1;
  std::vector<int> outwards = {other};
  for (int dim = rank - 3; dim >= 0; --dim) outwards.push_back(dim);
  for (const int dim : outwards) {
    const auto capacity = static_cast<int64_t>(layout.capacity(dim));
    out.strides[static_cast<size_t>(dim)] = capacity > 1 ? stride : 0;
    stride *= capacity;
  }
  out.bytes = static_cast<uint64_t>(stride * bytes);
  return out;
}

std::string why_illegal_dots(const Kernel& kernel, const TilePlan& plan, uint64_t most_registers,
                             const Target& target) {
  constexpr uint64_t kOtherRegisters = 32;  // addresses, masks, and the operands of the products under way
  std::string why;
  uint64_t shared = 0;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind != OpKind::kDot || !why.empty()) return;
    uint64_t registers = kOtherRegisters;
    for (const ValueId value : {op.operands[0], op.operands[1], op.result()}) {
      const Layout layout = planned_layout(kernel, plan, value);
      const DType dtype = kernel.type(value).dtype;
      registers += layout.num_registers() * static_cast<uint64_t>(dtype_bytes(dtype)) / 4;
      if (value != op.result()) shared += plan_dot_buffer(layout, dtype).bytes;
    }
    if (registers <= most_registers) return;
    why = "the tiles of a dot need about " + std::to_string(registers) + " registers a thread, there are " +
          std::to_string(most_registers) + "; lower a block or raise num_warps";
  });
  if (!why.empty() || shared <= target.max_shared_bytes) return why;
  return "the operands of dots take " + std::to_string(shared) + " bytes of shared memory, " + target.name +
         " has at most " + std::to_string(target.max_shared_bytes) + " in a block; lower a block";
}

}  // namespace kaon::compiler
