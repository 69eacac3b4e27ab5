// Edit distance over short names.
#include "compiler/support/near_miss.h"

#include <algorithm>

namespace kaon::compiler {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) d[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) d[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  }
  return d[a.size()][b.size()];
}

constexpr size_t kLongestName = 64;  // beyond it the table would cost more than the hint is worth

}  // namespace

std::string near_miss(std::string_view name, const std::vector<std::string>& candidates) {
  std::string best;
  size_t limit = std::max<size_t>(1, name.size() / 3) + 1;
  if (name.size() > kLongestName) return best;
  for (const std::string& candidate : candidates) {
    if (candidate.size() > kLongestName) continue;
    const size_t distance = edit_distance(name, candidate);
    if (distance < limit && distance < std::max(name.size(), candidate.size())) {
      limit = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& candidates) {
  const std::string best = near_miss(name, candidates);
  return best.empty() ? best : "; did you mean `" + best + "`";
}

}  // namespace kaon::compiler
