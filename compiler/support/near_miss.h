// The name that a mistyped name was probably meant to be, for "did you mean" in messages.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kaon::compiler {

/// The candidate with the fewest edits (insert, delete, replace, swap of neighbours) from `name`, the first of equals;
/// empty when every one is further than a third of the name's length, at least one edit.
std::string near_miss(std::string_view name, const std::vector<std::string>& candidates);
/// "; did you mean `sum`", or empty.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates);

}  // namespace kaon::compiler
