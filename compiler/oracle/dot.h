// Products of matrices in the oracle: bounds hold for any order of summation.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// An operand of a product with its lanes that exist; no flags: all.
struct DotOperand {
  const Tile& tile;
  std::vector<uint8_t> exists;
  bool has(size_t lane) const { return exists.empty() || exists[lane] != 0; }
};

/// a [..., m, k] times b [..., k, n], summed at type `sum` on top of `acc` (null: 0) to tiles of `sizes` [..., m, n];
/// leading sizes of 1 repeat. A product takes part where both of its factors exist.
void eval_dot(const DotOperand& a, const DotOperand& b, const Tile* acc, DType sum, const std::vector<int64_t>& sizes,
              Tile* result);

}  // namespace kaon::compiler
