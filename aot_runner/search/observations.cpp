#include "aot_runner/search/observations.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kaon::runner {
namespace {

constexpr double kNothing = std::numeric_limits<double>::infinity();
constexpr double kUnservedLoss = 4.0;     // log of a slowdown by 55: a shape that nothing chosen can serve
constexpr double kNear = 1.03;            // within this of the best counts as good as the best

}  // namespace

Observations::Observations(const std::vector<WeightedShape>& shapes) : shapes_(shapes), best_(shapes.size(), kNothing) {}

void Observations::add(const Config& config, int shape, const Outcome& outcome) {
  auto [row, is_new] = rows_.try_emplace(config, shapes_.size());
  row->second[static_cast<size_t>(shape)] = outcome;
  spent_ += outcome.cost_seconds;
  if (outcome.kind == Outcome::Kind::kTimed) {
    best_[static_cast<size_t>(shape)] = std::min(best_[static_cast<size_t>(shape)], outcome.time_us);
  }
  if (outcome.kind == Outcome::Kind::kTimed || outcome.kind == Outcome::Kind::kFailed) {
    cell_seconds_ += outcome.cost_seconds;
    ++cells_;
  }
}

const Outcome& Observations::at(const Config& config, int shape) const {
  static const Outcome kUnknown;
  const auto row = rows_.find(config);
  return row == rows_.end() ? kUnknown : row->second[static_cast<size_t>(shape)];
}

bool Observations::failed_everywhere(const Config& config) const {
  const auto row = rows_.find(config);
  if (row == rows_.end()) return false;
  return std::none_of(row->second.begin(), row->second.end(), [](const Outcome& o) { return o.kind == Outcome::Kind::kTimed; });
}

double Observations::mean_cell_seconds(double fallback) const { return cells_ > 0 ? cell_seconds_ / cells_ : fallback; }

std::vector<Config> Observations::fastest(int shape, size_t count) const {
  std::vector<std::pair<double, const Config*>> timed;
  for (const auto& [config, row] : rows_) {
    const Outcome& outcome = row[static_cast<size_t>(shape)];
    if (outcome.kind == Outcome::Kind::kTimed) timed.emplace_back(outcome.time_us, &config);
  }
  std::stable_sort(timed.begin(), timed.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Config> result;
  for (size_t i = 0; i < std::min(count, timed.size()); ++i) result.push_back(*timed[i].second);
  return result;
}

double Observations::loss(const std::vector<double>& served, const std::vector<int>& among) const {
  double sum = 0;
  for (int s : among) {
    const auto i = static_cast<size_t>(s);
    if (best_[i] == kNothing) continue;
    sum += shapes_[i].weight * (served[i] == kNothing ? kUnservedLoss : std::log(served[i] / best_[i]));
  }
  return sum;
}

std::vector<Config> Observations::cover(const std::vector<int>& among, size_t count, const std::vector<Config>& always) const {
  std::vector<Config> chosen;
  std::vector<double> served(shapes_.size(), kNothing);
  const auto take = [&](const Config& config) {
    chosen.push_back(config);
    const auto row = rows_.find(config);
    if (row == rows_.end()) return;
    for (size_t s = 0; s < shapes_.size(); ++s) {
      if (row->second[s].kind == Outcome::Kind::kTimed) served[s] = std::min(served[s], row->second[s].time_us);
    }
  };
  const auto is_chosen = [&](const Config& c) { return std::find(chosen.begin(), chosen.end(), c) != chosen.end(); };
  for (const Config& config : always) {
    if (!is_chosen(config)) take(config);
  }
  while (chosen.size() < count) {
    const double before = loss(served, among);
    const Config* best = nullptr;
    double best_loss = before - 1e-9;
    for (const auto& [config, row] : rows_) {
      if (is_chosen(config)) continue;
      std::vector<double> with = served;
      for (int s : among) {
        const Outcome& outcome = row[static_cast<size_t>(s)];
        if (outcome.kind == Outcome::Kind::kTimed) with[static_cast<size_t>(s)] = std::min(with[static_cast<size_t>(s)], outcome.time_us);
      }
      const double after = loss(with, among);
      if (after < best_loss) {
        best_loss = after;
        best = &config;
      }
    }
    if (best == nullptr) break;
    take(*best);
  }
  std::vector<std::pair<double, const Config*>> near;
  for (const auto& [config, row] : rows_) {
    if (is_chosen(config)) continue;
    double weight = 0;
    for (int s : among) {
      const Outcome& outcome = row[static_cast<size_t>(s)];
      const auto i = static_cast<size_t>(s);
      if (outcome.kind == Outcome::Kind::kTimed && outcome.time_us <= kNear * best_[i]) weight += shapes_[i].weight;
    }
    if (weight > 0) near.emplace_back(weight, &config);
  }
  std::stable_sort(near.begin(), near.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  for (size_t i = 0; i < near.size() && chosen.size() < count; ++i) chosen.push_back(*near[i].second);
  return chosen;
}

}  // namespace kaon::runner
