// Comparing the places of stores.
#include "compiler/ir/updates.h"

#include <algorithm>

#include "compiler/ir/host_value.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

ValueId operand_of(const Op& op, const Indexer& indexer) {
  return indexer.operand < 0 ? kNoValue : op.operands[static_cast<size_t>(indexer.operand)];
}

bool is_begin_of(const Op* op, AxisId axis) {
  return op != nullptr && op->kind == OpKind::kAxisInfo && op->int_attr("axis") == axis &&
         op->str_attr("what") == "begin";
}

/// One value, or two that the host knows to be equal.
bool is_same(const Kernel& kernel, const std::vector<const Op*>& definitions, ValueId a, ValueId b) {
  if (a == b) return true;
  const std::optional<HostInt> first = host_value(kernel, definitions, a);
  const std::optional<HostInt> second = host_value(kernel, definitions, b);
  return first && second && *first == *second;
}

}  // namespace

bool is_update(const Op& op) { return op.kind == OpKind::kStore && op.find_attr("fn") != nullptr; }

bool is_apart_along(const Kernel& kernel, const Op& access, AxisId axis) {
  const std::vector<Indexer>& index = access.index_attr("index");
  return std::any_of(index.begin(), index.end(), [&](const Indexer& indexer) {
    if (indexer.kind == Indexer::Kind::kAxis) return indexer.axis == axis && indexer.operand < 0;
    if (indexer.kind != Indexer::Kind::kScalar || kernel.axis(axis).fixed_block != 1) return false;
    const std::vector<const Op*> definitions = defining_ops(kernel);
    return is_begin_of(definitions[static_cast<size_t>(operand_of(access, indexer))], axis);
  });
}

bool starts_as_memory(const Kernel& kernel, int tensor) {
  if (kernel.signature.tensors[static_cast<size_t>(tensor)].is_zeroed) return false;
  bool changes = false;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    changes = changes || ((op.kind == OpKind::kAtomic || is_update(op)) && op.int_attr("tensor") == tensor);
  });
  return changes;
}

bool updates_are_apart(const Kernel& kernel, const Region& region, AxisId axis) {
  bool apart = true;
  walk(region, [&](const Op& op, const ConstOpPlace&) {
    if (is_update(op)) apart = apart && is_apart_along(kernel, op, axis);
  });
  return apart;
}

bool covers(const Kernel& kernel, const Op& earlier, const Op& later) {
  const std::vector<Indexer>& first = earlier.index_attr("index");
  const std::vector<Indexer>& second = later.index_attr("index");
  const TensorParam& param = kernel.signature.tensors[static_cast<size_t>(later.int_attr("tensor"))];
  const std::vector<const Op*> definitions = defining_ops(kernel);
  for (size_t dim = 0; dim < first.size(); ++dim) {
    const Indexer& a = first[dim];
    const Indexer& b = second[dim];
    if (a.kind == Indexer::Kind::kTile) return false;
    if (a.kind == Indexer::Kind::kAxis && a.operand < 0) {
      const Axis& axis = kernel.axis(a.axis);
      const bool is_whole =
          axis.kind != AxisKind::kTile && axis.extent_value == kNoValue && axis.extent == param.extents[dim];
      if (is_whole) continue;
    }
    if (a.kind != b.kind || a.axis != b.axis) return false;
    if (!is_same(kernel, definitions, operand_of(earlier, a), operand_of(later, b))) return false;
  }
  return true;
}

}  // namespace kaon::compiler
