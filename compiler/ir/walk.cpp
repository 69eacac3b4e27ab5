// Definitions, uses and dead ops, found by walking a kernel.
#include "compiler/ir/walk.h"

#include <algorithm>

namespace kaon::compiler {
namespace {

template <typename OpPointer, typename KernelRef>
std::vector<OpPointer> find_definitions(KernelRef& kernel) {
  std::vector<OpPointer> definitions(kernel.values.size(), nullptr);
  walk(kernel.body, [&](auto& op, const auto&) {
    for (ValueId result : op.results) definitions[static_cast<size_t>(result)] = &op;
  });
  return definitions;
}

/// Whether nothing but the results of `op` is seen of it: a pure op, or a loop or branch of such.
bool has_no_effect(const Op& op) {
  if (op.kind != OpKind::kTile && op.kind != OpKind::kLoop && op.kind != OpKind::kWhile && op.kind != OpKind::kIf)
    return op_info(op.kind).pure || op.kind == OpKind::kYield;
  return std::all_of(op.regions.begin(), op.regions.end(), [](const Region& region) {
    return std::all_of(region.ops.begin(), region.ops.end(), [](const auto& inner) { return has_no_effect(*inner); });
  });
}

/// Forgets the bounds of axes that no op runs over or has a value along.
void drop_unused_bounds(Kernel& kernel) {
  std::vector<bool> is_used(kernel.axes.size(), false);
  auto use = [&](int64_t axis) {
    if (axis >= 0) is_used[static_cast<size_t>(axis)] = true;
  };
  walk(kernel.body, [&](const Op& op, const OpPlace&) {
    if (op.find_attr("axis") != nullptr) use(op.int_attr("axis"));
    if (op.kind == OpKind::kTile || op.kind == OpKind::kGrid) {
      for (const int64_t axis : op.ints_attr("axes")) use(axis);
    }
    for (const ValueId result : op.results) {
      for (const AxisId axis : kernel.type(result).axes) use(axis);
    }
    for (const Region& region : op.regions) {
      for (const ValueId argument : region.args) {
        for (const AxisId axis : kernel.type(argument).axes) use(axis);
      }
    }
  });
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    Axis& axis = kernel.axes[i];
    if (!is_used[i]) axis.begin_value = axis.extent_value = axis.lengths = kNoValue;
  }
}

bool erase_dead_ops_once(Region& region, const std::vector<int>& uses) {
  bool erased = false;
  auto is_dead = [&](const std::unique_ptr<Op>& op) {
    if (op->kind == OpKind::kYield || !has_no_effect(*op)) return false;
    return std::all_of(op->results.begin(), op->results.end(),
                       [&](ValueId result) { return uses[static_cast<size_t>(result)] == 0; });
  };
  auto first_dead = std::remove_if(region.ops.begin(), region.ops.end(), is_dead);
  erased = first_dead != region.ops.end();
  region.ops.erase(first_dead, region.ops.end());
  for (auto& op : region.ops) {
    for (Region& inner : op->regions) erased = erase_dead_ops_once(inner, uses) || erased;
  }
  return erased;
}

}  // namespace

void replace_uses(Region& region, ValueId from, ValueId to) {
  walk(region, [&](Op& op, const OpPlace&) { std::replace(op.operands.begin(), op.operands.end(), from, to); });
}

void replace_uses(Kernel& kernel, ValueId from, ValueId to) {
  replace_uses(kernel.body, from, to);
  for (Axis& axis : kernel.axes) {
    for (ValueId* use : {&axis.begin_value, &axis.extent_value, &axis.origin, &axis.lengths}) {
      if (*use == from) *use = to;
    }
  }
}

std::vector<Op*> defining_ops(Kernel& kernel) { return find_definitions<Op*>(kernel); }

std::vector<const Op*> defining_ops(const Kernel& kernel) { return find_definitions<const Op*>(kernel); }

Op* defining_op(Kernel& kernel, ValueId value) {
  Op* definition = nullptr;
  walk(kernel.body, [&](Op& op, const OpPlace&) {
    if (std::find(op.results.begin(), op.results.end(), value) != op.results.end()) definition = &op;
  });
  return definition;
}

std::vector<int> count_uses(const Kernel& kernel) {
  std::vector<int> uses(kernel.values.size(), 0);
  auto use = [&](ValueId value) {
    if (value != kNoValue) ++uses[static_cast<size_t>(value)];
  };
  walk(kernel.body,
       [&](const Op& op, const ConstOpPlace&) { std::for_each(op.operands.begin(), op.operands.end(), use); });
  for (const Axis& axis : kernel.axes) {
    for (ValueId value : {axis.begin_value, axis.extent_value, axis.origin, axis.lengths}) use(value);
  }
  return uses;
}

void erase_dead_ops(Kernel& kernel) {
  do {
    drop_unused_bounds(kernel);
  } while (erase_dead_ops_once(kernel.body, count_uses(kernel)));
}

}  // namespace kaon::compiler
