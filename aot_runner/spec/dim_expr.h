// Integer expressions over dim names, as written in shapes files: "M * N", "ceil_div(N, 128)", "N % 8".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/expr.h"
#include "runtime/base/status.h"

namespace kaon::runner {

/// Parses + - * / % ( ) and min, max, ceil_div, floor_div over integers and `names`; slot i is names[i]. `/` rounds
/// down. kInvalidArgument with what was met and what is known.
Result<Expr> parse_dim_expr(std::string_view text, const std::vector<std::string>& names);

/// `expr` with slot i replaced by slot slots[i].
Expr remap_slots(const Expr& expr, const std::vector<int>& slots);

}  // namespace kaon::runner
