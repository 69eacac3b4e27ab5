// Which results of combining depend on how elements are grouped, beyond what their roundings differ by.
#pragma once

#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// Doubts results for which the order of combining decides whether something overflows, and lets products that are
/// subnormal on the way lose what they do. `rows` are what was combined: one tile of rows for each member of the
/// tuples, and, where lanes may be missing, a last one of bools. Results are one element a row for a fold, else
/// prefixes.
void doubt_orders(const Kernel& kernel, const Region& region, const std::vector<Tile>& rows, bool is_fold,
                  std::vector<Tile>* results);

}  // namespace kaon::compiler
