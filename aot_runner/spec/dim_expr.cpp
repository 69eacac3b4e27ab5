#include "aot_runner/spec/dim_expr.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "heuristics/expr_text.h"

namespace kaon::runner {

Result<Expr> parse_dim_expr(std::string_view text, const std::vector<std::string>& names) {
  const auto resolve = [&](const std::string& name) -> Result<Expr> {
    const auto it = std::find(names.begin(), names.end(), name);
    if (it != names.end()) return Expr::slot(static_cast<int>(it - names.begin()));
    return Status(Code::kInvalidArgument, fmt::format("unknown dim '{}', known are {}", name, fmt::join(names, ", ")));
  };
  return heuristics::parse_expr(text, resolve, static_cast<int>(names.size()));
}

}  // namespace kaon::runner
