// How to visit every op of a region tree in order, and who defines and who uses a value.
#pragma once

#include <cstddef>
#include <vector>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// Where an op stands: `region->ops[index]`, inside `parent` (null for the kernel's body).
struct OpPlace {
  Region* region = nullptr;
  size_t index = 0;
  Op* parent = nullptr;
};
struct ConstOpPlace {
  const Region* region = nullptr;
  size_t index = 0;
  const Op* parent = nullptr;
};

/// Calls visit(op, place) for each op, an op before those of its regions. `visit` must not add or remove ops of
/// regions that are being walked.
template <typename Visit>
void walk(Region& region, Visit&& visit, Op* parent = nullptr) {
  for (size_t i = 0; i < region.ops.size(); ++i) {
    Op& op = *region.ops[i];
    visit(op, OpPlace{&region, i, parent});
    for (Region& inner : op.regions) walk(inner, visit, &op);
  }
}
template <typename Visit>
void walk(const Region& region, Visit&& visit, const Op* parent = nullptr) {
  for (size_t i = 0; i < region.ops.size(); ++i) {
    const Op& op = *region.ops[i];
    visit(op, ConstOpPlace{&region, i, parent});
    for (const Region& inner : op.regions) walk(inner, visit, &op);
  }
}

/// Replaces `from` by `to` as operand everywhere in the region tree.
void replace_uses(Region& region, ValueId from, ValueId to);
/// The same in the whole kernel, bounds and origins of axes included.
void replace_uses(Kernel& kernel, ValueId from, ValueId to);

/// The op that defines each value; null for region arguments, scalar parameters and unused ids.
std::vector<Op*> defining_ops(Kernel& kernel);
std::vector<const Op*> defining_ops(const Kernel& kernel);
/// The op that defines `value`, or null. Walks the kernel: for many values take defining_ops().
Op* defining_op(Kernel& kernel, ValueId value);

/// How often each value is read: by ops, and by axes as a bound or origin.
std::vector<int> count_uses(const Kernel& kernel);

/// Removes pure ops whose results nobody reads, until none is left.
void erase_dead_ops(Kernel& kernel);

}  // namespace kaon::compiler
