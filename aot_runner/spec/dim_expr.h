// Integer expressions over dim names, as written in shapes files: "M * N", "ceil_div(N, 128)", "N % 8".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/expr.h"
#include "runtime/base/status.h"

namespace kaon::runner {

/// The arithmetic of heuristics/expr_text.h over `names`; slot i is names[i]. kInvalidArgument with what was met and
/// what is known.
Result<Expr> parse_dim_expr(std::string_view text, const std::vector<std::string>& names);

}  // namespace kaon::runner
