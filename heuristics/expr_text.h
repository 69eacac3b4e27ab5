// Derived features as people write them: text to Expr.
#pragma once

#include <string>
#include <string_view>

#include "runtime/base/expr.h"
#include "runtime/base/signature.h"
#include "runtime/base/status.h"

namespace kaon::heuristics {

/// Parses integer arithmetic over dims and integer scalars: + - * // % min(a, b) max(a, b) ceil_div(a, b),
/// parentheses, non-negative literals. `//` rounds down, `%` has the divisor's sign. kInvalidArgument with the column
/// (from 1) and what was expected.
Result<Expr> parse_expr(std::string_view text, const Signature& signature);

}  // namespace kaon::heuristics
