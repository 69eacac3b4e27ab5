#include "aot_runner/tune/row_fit.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <string>

#include "compiler/config/row_versions.h"
#include "compiler/config/tile_plan.h"
#include "compiler/ir/walk.h"
#include "heuristics/table.h"

namespace kaon::runner {
namespace {

const std::string kDivisorKnob = "div.";
constexpr double kMostLoops = 12;  // capacities in a row; others are faster beyond, and timing it takes long

}  // namespace

RowFit::RowFit(const compiler::Kernel& logical, const compiler::ConfigSpace& space)
    : space_(space), live_(compiler::clone(logical)) {
  compiler::erase_dead_ops(live_);
  sets_ = compiler::find_axis_sets(live_);
  for (const compiler::Knob& knob : space.knobs()) {
    if (knob.name.rfind(kDivisorKnob, 0) != 0) continue;
    const int dim = live_.signature.find_dim(knob.name.substr(kDivisorKnob.size()));
    int64_t most = 1;
    for (const std::string& choice : knob.choices) most = std::max<int64_t>(most, std::atoll(choice.c_str()));
    if (dim >= 0 && most > 1) divisors_.emplace_back(dim, most);
  }
}

std::vector<RowFit::Row> RowFit::resident_rows(const Config& normal) const {
  std::vector<Row> rows;
  const Result<compiler::TilePlan> plan = compiler::plan_tiles(live_, sets_, normal);
  if (!plan.is_ok()) return rows;
  for (const auto& [id, block] : plan->blocks) {
    const compiler::Axis& axis = live_.axis(id);
    if (!compiler::is_row_axis(axis) || axis.extent_value != compiler::kNoValue) continue;
    const Result<compiler::RowPlan> row = compiler::row_knob(normal, axis);
    if (!row.is_ok() || !row->resident) continue;
    const bool loops = compiler::loops_longer(normal, axis);
    rows.push_back({axis.extent, compiler::usable_capacity(normal, axis, block), loops});
  }
  return rows;
}

const RowFit::Limits& RowFit::limits(const Config& config) {
  const auto [at, is_new] = limits_.try_emplace(config);
  if (!is_new) return at->second;
  const Config normal = space_.normalize(config);
  at->second.rows = resident_rows(normal);
  for (const auto& [dim, most] : divisors_) {
    const int64_t divisor = normal.get_int(kDivisorKnob + live_.signature.dims[static_cast<size_t>(dim)], 1);
    if (divisor > 1) at->second.divisors.emplace_back(dim, divisor);
  }
  return at->second;
}

double RowFit::fill(const Config& config, const Shape& shape) {
  const Limits& limit = limits(config);
  for (const auto& [dim, divisor] : limit.divisors) {
    if (shape[static_cast<size_t>(dim)] % divisor != 0) return HUGE_VAL;
  }
  const Signature& signature = live_.signature;
  const std::vector<int64_t> slots =
      heuristics::contiguous_slots(signature, shape, std::vector<int64_t>(signature.scalars.size(), 0));
  double most = 0;
  for (const Row& row : limit.rows) {
    const auto extent = static_cast<double>(row.extent.evaluate(slots.data()));
    double fill = extent / static_cast<double>(std::max<int64_t>(1, row.capacity));
    if (row.loops && fill > 1 && fill <= kMostLoops) fill = 1;
    most = std::max(most, fill);
  }
  return most > 0 ? most : 1;
}

int RowFit::kind(const Shape& shape) const {
  int bits = 0;
  for (size_t i = 0; i < divisors_.size(); ++i) {
    const auto& [dim, most] = divisors_[i];
    if (shape[static_cast<size_t>(dim)] % most != 0) bits |= 1 << std::min<size_t>(i, 15);
  }
  return bits;
}

}  // namespace kaon::runner
