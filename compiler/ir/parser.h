// Reads the textual form of a kernel (printer.h) back: for tests, reproducers and kaonc --run-pass.
#pragma once

#include <string_view>

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// The kernel that `text` describes; spaces, line breaks and // comments are free. kInvalidArgument with
/// "line:column: expected ..., got ..." at the first error. Checks names and syntax; verify() checks meaning.
/// Values keep their numbers; ops have no place in a source.
Result<Kernel> parse_kernel(std::string_view text);

}  // namespace kaon::compiler
