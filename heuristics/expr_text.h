// Integer arithmetic as people write it in shapes files and derived features: text to Expr.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "runtime/base/expr.h"
#include "runtime/base/signature.h"
#include "runtime/base/status.h"

namespace kaon::heuristics {

/// The value of a name; its error is what is wrong with the name, without place.
using NameResolver = std::function<Result<Expr>(const std::string& name)>;

/// Parses + - * / // % min(a, b) max(a, b) ceil_div(a, b) floor_div(a, b), parentheses, non-negative literals and
/// names. Division rounds down however it is written, `%` has the divisor's sign. kInvalidArgument with the column
/// (from 1), what was expected and what was met. `num_slots` bounds the slots that names may stand for.
Result<Expr> parse_expr(std::string_view text, const NameResolver& resolve, int num_slots);

/// Over dims and integer scalars.
Result<Expr> parse_expr(std::string_view text, const Signature& signature);

}  // namespace kaon::heuristics
