// Inputs whose elements depend on each other: ids that ascend, and where the rows of jagged tensors begin.
#pragma once

#include <cstdint>
#include <vector>

#include "aot_runner/measure/protocol.h"
#include "runtime/base/dtype.h"

namespace kaon::runner {

/// Whether elements of this kind are made by ordered_elements(), not one by one.
bool is_ordered(RecipeKind kind);

/// The bytes of `count` integers of type `dtype`: kSorted, a random number of each value; offsets, prefix sums from 0
/// to recipe.high over count - 1 rows whose lengths are as the kind says. The same for the same seed everywhere.
/// kInvalidArgument when `dtype` is no integer type or the recipe's values do not fit it.
Result<std::vector<uint8_t>> ordered_elements(const Recipe& recipe, DType dtype, int64_t count, uint64_t seed);

}  // namespace kaon::runner
