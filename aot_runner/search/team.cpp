#include "aot_runner/search/team.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "aot_runner/search/regions.h"
#include "heuristics/cover.h"
#include "heuristics/samples.h"

namespace kaon::runner {
namespace {

constexpr double kNotTimed = std::numeric_limits<double>::infinity();
constexpr double kKeepsUp = 1.02;  // mean time over the team's, of a config worth another look
constexpr double kBadlyServed = 1.06;
constexpr size_t kTastes = 4;  // shapes that a variation is tried on first
constexpr size_t kAround = 8;  // shapes around a badly served one
constexpr int kOtherTeams = 8;
constexpr size_t kFewestCells = 2;

/// The distiller's cost of a slowdown, without noise.
int64_t cost_micro(double slowdown) { return heuristics::CostModel{}.cost_micro(slowdown, 0); }

std::vector<double> team_times(const Observations& seen, const std::vector<Config>& team) {
  std::vector<double> times(seen.shapes().size(), kNotTimed);
  for (const Config& config : team) {
    for (size_t s = 0; s < times.size(); ++s) {
      const Outcome& outcome = seen.at(config, static_cast<int>(s));
      if (outcome.kind == Outcome::Kind::kTimed) times[s] = std::min(times[s], outcome.time_us);
    }
  }
  return times;
}

/// Shapes that `member` serves at least as fast as the rest of the team.
std::vector<int> territory(const Observations& seen, const Config& member, const std::vector<double>& times) {
  std::vector<int> shapes;
  for (size_t s = 0; s < times.size(); ++s) {
    const Outcome& outcome = seen.at(member, static_cast<int>(s));
    if (outcome.kind == Outcome::Kind::kTimed && outcome.time_us <= times[s]) shapes.push_back(static_cast<int>(s));
  }
  return shapes;
}

std::vector<int> spread(const Observations& seen, const std::vector<int>& among, size_t count) {
  std::vector<WeightedShape> own;
  for (int s : among) own.push_back(seen.shapes()[static_cast<size_t>(s)]);
  std::vector<int> chosen;
  for (int i : spread_subset(own, static_cast<int>(std::min(count, own.size())))) {
    chosen.push_back(among[static_cast<size_t>(i)]);
  }
  return chosen;
}

std::vector<int> unknown_of(const SearchSpace& space, const Observations& seen, const Config& config,
                            const std::vector<int>& shapes) {
  std::vector<int> unknown;
  for (int s : shapes) {
    if (seen.at(config, s).kind != Outcome::Kind::kUnknown) continue;
    if (worth_measuring(space, config, seen.shapes()[static_cast<size_t>(s)].shape)) unknown.push_back(s);
  }
  return unknown;
}

/// The shape of `among` that fills `member` most.
int fullest(const SearchSpace& space, const Observations& seen, const Config& member, const std::vector<int>& among) {
  return *std::max_element(among.begin(), among.end(), [&](int a, int b) {
    const auto& shapes = seen.shapes();
    return space.fill_of(member, shapes[static_cast<size_t>(a)].shape) <
           space.fill_of(member, shapes[static_cast<size_t>(b)].shape);
  });
}

}  // namespace

std::vector<Config> best_team(const Observations& seen, const std::vector<Config>& always, size_t size,
                              const std::vector<double>& factors) {
  const size_t shapes = seen.shapes().size();
  std::vector<int64_t> weights(shapes);
  for (size_t s = 0; s < shapes; ++s) {
    weights[s] = std::max<int64_t>(1, std::llround(1000 * seen.shapes()[s].weight * factors[s]));
  }
  std::vector<const Config*> configs = {nullptr};
  std::vector<std::vector<int64_t>> columns = {std::vector<int64_t>(shapes, heuristics::CostTable::kFailedMicro)};
  std::vector<int32_t> candidates;
  for (const auto& [config, row] : seen.rows()) {
    const bool is_base = std::find(always.begin(), always.end(), config) != always.end();
    std::vector<int64_t> column(shapes, heuristics::CostTable::kFailedMicro);
    for (size_t s = 0; s < shapes; ++s) {
      if (row[s].kind != Outcome::Kind::kTimed) continue;
      column[s] = cost_micro(row[s].time_us / seen.best_us(static_cast<int>(s)));
      if (is_base) columns[0][s] = std::min(columns[0][s], column[s]);
    }
    if (is_base) continue;
    candidates.push_back(static_cast<int32_t>(columns.size()));
    columns.push_back(std::move(column));
    configs.push_back(&config);
  }
  const heuristics::Cover cover(std::move(columns), std::move(weights), 0, std::move(candidates), 0);
  std::vector<Config> team;
  for (int32_t c : cover.best(static_cast<int>(size))) team.push_back(*configs[static_cast<size_t>(c)]);
  std::sort(team.begin(), team.end());
  return team;
}

std::vector<Ask> team_moves(const SearchSpace& space, const Observations& seen, const std::vector<Config>& team,
                            size_t count, bool fine, heuristics::Random* random) {
  std::vector<Ask> asks;
  const std::vector<double> times = team_times(seen, team);
  for (const Config& member : team) {
    const std::vector<int> own = territory(seen, member, times);
    if (own.empty()) continue;
    const int largest = fullest(space, seen, member, own);
    std::vector<int> tastes = spread(seen, own, kTastes);
    if (std::find(tastes.begin(), tastes.end(), largest) == tastes.end()) tastes.push_back(largest);
    std::sort(tastes.begin(), tastes.end());
    std::vector<Config> variations = moves(space, member, seen.shapes()[static_cast<size_t>(largest)].shape, fine);
    std::erase_if(variations, [&](const Config& c) { return unknown_of(space, seen, c, tastes).empty(); });
    for (size_t taken = 0; taken < count && !variations.empty(); ++taken) {
      const size_t pick = random->below(variations.size());
      asks.push_back({variations[pick], unknown_of(space, seen, variations[pick], tastes)});
      variations.erase(variations.begin() + static_cast<long>(pick));
    }
  }
  std::vector<int> all(seen.shapes().size());
  for (size_t s = 0; s < all.size(); ++s) all[s] = static_cast<int>(s);
  for (int s : all) {
    if (times[static_cast<size_t>(s)] <= kBadlyServed * seen.best_us(s)) continue;
    for (const Config& config : seen.fastest(s, 2)) {
      std::vector<int> around = nearest(seen.shapes(), all, s, kAround);
      std::sort(around.begin(), around.end());
      around = unknown_of(space, seen, config, around);
      if (!around.empty()) asks.push_back({config, std::move(around)});
    }
  }
  return asks;
}

std::vector<Config> rising(const SearchSpace& space, const Observations& seen, const std::vector<Config>& team,
                           size_t count) {
  std::vector<int> all(seen.shapes().size());
  for (size_t s = 0; s < all.size(); ++s) all[s] = static_cast<int>(s);
  const std::vector<double> times = team_times(seen, team);
  std::vector<std::pair<double, const Config*>> ranked;
  for (const auto& [config, row] : seen.rows()) {
    double sum = 0;
    size_t cells = 0, kept_up = 0;
    for (size_t s = 0; s < row.size(); ++s) {
      if (row[s].kind != Outcome::Kind::kTimed || times[s] == kNotTimed) continue;
      const double ratio = row[s].time_us / times[s];
      // Where it is far slower, others of the team serve; what counts is where it could take over.
      if (ratio > 1.25) continue;
      sum += std::log(ratio);
      ++cells;
      kept_up += ratio <= kKeepsUp ? 1 : 0;
    }
    if (cells < kFewestCells || kept_up == 0 || unknown_of(space, seen, config, all).empty()) continue;
    const double mean = sum / static_cast<double>(cells);
    if (mean <= std::log(kKeepsUp)) ranked.emplace_back(mean / std::sqrt(static_cast<double>(cells)), &config);
  }
  std::stable_sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> found;
  for (size_t i = 0; i < std::min(count, ranked.size()); ++i) found.push_back(*ranked[i].second);
  return found;
}

std::vector<Config> final_field(const Observations& seen, const std::vector<Config>& always, size_t count,
                                size_t team_size, uint64_t seed) {
  std::vector<Config> chosen = always;
  std::vector<int> all(seen.shapes().size());
  for (size_t s = 0; s < all.size(); ++s) all[s] = static_cast<int>(s);
  const size_t of_teams = std::max(std::min(count, always.size() + team_size), (count + always.size()) / 2);
  heuristics::Random random(seed);
  std::vector<double> factors(all.size(), 1.0);
  for (int other = 0; other <= kOtherTeams && chosen.size() < of_teams; ++other) {
    for (const Config& config : best_team(seen, always, team_size, factors)) {
      if (chosen.size() < of_teams && std::find(chosen.begin(), chosen.end(), config) == chosen.end()) {
        chosen.push_back(config);
      }
    }
    for (double& factor : factors) factor = 0.05 - std::log(1 - random.uniform());
  }
  chosen = seen.cover(all, count, chosen);
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

}  // namespace kaon::runner
