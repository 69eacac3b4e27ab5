// Comparing stores by the elements that they reach and by the threads that make them.
#include "compiler/passes/store_order.h"

#include <map>
#include <vector>

#include "compiler/ir/walk.h"

namespace kaon::compiler {

StoreOrder::StoreOrder(const Kernel& kernel) : kernel_(kernel), places_(kernel) {
  std::map<int64_t, std::vector<const Op*>> stores;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind == OpKind::kStore) stores[op.int_attr("tensor")].push_back(&op);
  });
  for (const auto& [tensor, all] : stores) {
    for (const Op* earlier : all) {
      for (const Op* later : all) {
        if (must_wait(*earlier, *later)) ordered_.insert({earlier, later});
      }
    }
  }
}

bool StoreOrder::is_ordered(const Op& store) const { return ordered_.count(&store) > 0; }

bool StoreOrder::must_wait(const Op& earlier, const Op& later) const {
  if (earlier.int_attr("tensor") != later.int_attr("tensor")) return false;
  // An element that a scatter names twice gets any of its values, in one turn of a loop as in several.
  if (&earlier == &later) return !is_scatter(later) && !places_.is_still(later);
  return !places_.are_apart(earlier, later) && !stays_with_threads(earlier, later);
}

/// Whether each element that both reach is stored by the same thread.
bool StoreOrder::stays_with_threads(const Op& earlier, const Op& later) const {
  if (is_scatter(earlier) || owners(earlier) != owners(later)) return false;
  const std::vector<Indexer>& index = earlier.index_attr("index");
  for (size_t dim = 0; dim < index.size(); ++dim) {
    if (index[dim].kind == Indexer::Kind::kAxis && !places_.walk_together(earlier, later, dim)) return false;
  }
  return true;
}

/// Which thread holds which lanes, and what lanes mean: equal texts leave each position along each axis to one thread.
std::string StoreOrder::owners(const Op& store) const {
  std::string text = kernel_.layout(store.operands[0]).to_string();
  for (const AxisId axis : kernel_.type(store.operands[0]).axes) text += " " + std::to_string(axis);
  for (const Indexer& indexer : store.index_attr("index")) {
    text += " " + std::to_string(static_cast<int>(indexer.kind)) + ":" + std::to_string(indexer.axis);
  }
  return text;
}

}  // namespace kaon::compiler
