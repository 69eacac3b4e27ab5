// Products of matrices in the oracle: bounds hold for any order of summation.
#pragma once

#include <vector>

#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// a [..., m, k] times b [..., k, n], summed at type `sum` on top of `acc` (null: 0) to tiles of `sizes` [..., m, n];
/// leading sizes of 1 repeat.
void eval_dot(const Tile& a, const Tile& b, const Tile* acc, DType sum, const std::vector<int64_t>& sizes,
              Tile* result);

}  // namespace kaon::compiler
