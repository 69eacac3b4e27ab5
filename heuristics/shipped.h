// What ships for one binding of the dtypes: a kernel that is specialised on dimensions has a table for each of their
// values, with a tree of its own, and a pack has one tree that asks for the value first.
#pragma once

#include <string>
#include <vector>

#include "heuristics/distill.h"

namespace kaon::heuristics {

struct ShippedTable {
  std::string dtypes;      // Table::dtype_key()
  std::vector<int> parts;  // indices into Distilled::tables; several for a specialised kernel
  DecisionTree tree;       // over the variants of all parts, one part's behind the other's
};

/// One for each binding of the dtypes, in order of declaration. A call with a value that no part has reaches the part
/// of the next larger value, or the last, all of whose variants refuse it.
std::vector<ShippedTable> shipped_tables(const Measurements& measurements, const Distilled& distilled);

}  // namespace kaon::heuristics
