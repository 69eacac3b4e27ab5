// Which inputs say where memory is accessed or how often a loop runs, so that their data cannot be chosen blindly.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// Names of the inputs whose elements reach an index of an access or a bound of a loop, in signature order.
std::vector<std::string> inputs_that_index(const Kernel& kernel);

}  // namespace kaon::compiler
