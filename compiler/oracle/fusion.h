// Products that a target may fuse into the sum that follows: what it then never rounds cannot overflow either.
#pragma once

#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// By value: a product of f32 or f64 that is added, subtracted or summed, be it behind views or negated.
std::vector<bool> fusable_products(const Kernel& kernel);

/// Takes back what is known of elements of `product` that overflowed, where factors were finite. All of one shape.
void doubt_overflows(const Tile& a, const Tile& b, Tile* product);

}  // namespace kaon::compiler
