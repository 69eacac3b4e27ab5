// Reductions of the oracle: bounds hold for any order in which the device combines the elements.
#pragma once

#include <vector>

#include "compiler/ir/functions.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// Folds the dims of `a` at positions `dims`; `result_sizes` are its other sizes, with 1 in place of folded ones if
/// they are kept. An empty fold gives the identity: 0, 1, or the lowest or highest value of the type. `exists` flags
/// the lanes of `a` that do; empty: all.
void eval_reduce(ReduceFn fn, const Tile& a, const std::vector<int64_t>& dims, const std::vector<int64_t>& result_sizes,
                 const std::vector<uint8_t>& exists, Tile* result);

/// Floats that are added up, each with its bound.
struct Terms {
  std::vector<double> floats;
  std::vector<double> bounds;
};
/// Their sum at type `dtype`, in any order.
void sum_terms(DType dtype, const Terms& terms, double* sum, double* bound);

}  // namespace kaon::compiler
