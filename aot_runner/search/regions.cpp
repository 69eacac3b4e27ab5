#include "aot_runner/search/regions.h"

#include <algorithm>
#include <cmath>

namespace kaon::runner {
namespace {

constexpr int kFewestOfKind = 4;
constexpr size_t kFewestTogether = 3;

}  // namespace

std::vector<int> probes_by_kind(const SearchSpace& space, const std::vector<WeightedShape>& shapes, int count) {
  std::map<int, std::vector<int>> kinds;
  for (size_t s = 0; s < shapes.size(); ++s) kinds[space.kind_of(shapes[s].shape)].push_back(static_cast<int>(s));
  std::vector<int> probes;
  for (const auto& [kind, members] : kinds) {
    const double share = static_cast<double>(members.size()) / static_cast<double>(shapes.size());
    std::vector<WeightedShape> own;
    for (int s : members) own.push_back(shapes[static_cast<size_t>(s)]);
    const int wanted = std::max(kFewestOfKind, static_cast<int>(std::lround(share * count)));
    for (int i : spread_subset(own, wanted)) probes.push_back(members[static_cast<size_t>(i)]);
  }
  std::sort(probes.begin(), probes.end());
  return probes;
}

std::vector<int> nearest(const std::vector<WeightedShape>& shapes, const std::vector<int>& among, int to, size_t count) {
  std::vector<int> order = among;
  const Shape& here = shapes[static_cast<size_t>(to)].shape;
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return log_distance(here, shapes[static_cast<size_t>(a)].shape) < log_distance(here, shapes[static_cast<size_t>(b)].shape);
  });
  order.resize(std::min(count, order.size()));
  return order;
}

void AskQueue::add(const Config& config, int shape) {
  std::vector<Config>& here = waiting_[shape];
  if (std::find(here.begin(), here.end(), config) == here.end()) here.push_back(config);
}

int AskQueue::num_cells() const {
  size_t cells = 0;
  for (const auto& [shape, configs] : waiting_) cells += configs.size();
  return static_cast<int>(cells);
}

std::vector<Ask> AskQueue::take(int cells) {
  if (waiting_.empty()) return {};
  // A request times the configs of one shape against each other: a few at a time are worth having.
  const size_t share = std::max(kFewestTogether, static_cast<size_t>(cells) / waiting_.size());
  std::map<Config, std::vector<int>> taken;
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    std::vector<Config>& configs = at->second;
    const size_t count = std::min(share, configs.size());
    for (size_t i = 0; i < count; ++i) taken[configs[i]].push_back(at->first);
    configs.erase(configs.begin(), configs.begin() + static_cast<long>(count));
    at = configs.empty() ? waiting_.erase(at) : std::next(at);
  }
  std::vector<Ask> asks;
  for (auto& [config, where] : taken) asks.push_back({config, std::move(where)});
  return asks;
}

}  // namespace kaon::runner
