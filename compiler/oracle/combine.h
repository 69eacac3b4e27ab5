// Folds and scans by a function of the author's: its scalar ops run on whole tiles, bounds cover any association.
#pragma once

#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// fold: `tiles` are the operands of `op` (all of the same sizes), results those of the op with `result_sizes`; of
/// nothing it gives zeros. Not for flagged folds, which only passes make. `exists` flags the lanes of `tiles` that do;
/// empty: all.
std::vector<Tile> eval_fold(const Kernel& kernel, const Op& op, const std::vector<const Tile*>& tiles,
                            const std::vector<int64_t>& result_sizes, const std::vector<uint8_t>& exists);

/// scan: the prefixes. Not for scans with totals, which only passes make.
std::vector<Tile> eval_scan(const Kernel& kernel, const Op& op, const std::vector<const Tile*>& tiles,
                            const std::vector<uint8_t>& exists);

}  // namespace kaon::compiler
