// What is known of one load or store before any guard: the axis of its last dimension, and what divides its numbers.
#pragma once

#include <cstdint>
#include <map>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

struct AccessFacts {
  int tensor = -1;
  AxisId axis = kUnitAxis;    // whose coordinates walk the last dimension; kUnitAxis: none does, or not alone
  int dim = -1;               // the axis's position in the tile
  int64_t contiguous = 1;     // neighbours that one thread holds along the axis
  int64_t start_divisor = 0;  // divides every constant added to the axis's coordinates; 0: nothing is added
  ValueId tile = kNoValue;
  bool extent_differs = false;  // the tensor's last extent is another expression than the axis's
};

/// `definitions`: the op that defines each value.
AccessFacts access_facts(const Kernel& kernel, const std::vector<const Op*>& definitions, const Op& op);

/// A number that divides `expr` in every call that the kernel's guards accept; 0 when it is always 0.
int64_t known_divisor(const Kernel& kernel, const Expr& expr);

}  // namespace kaon::compiler
