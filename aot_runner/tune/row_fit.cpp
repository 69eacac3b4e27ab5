#include "aot_runner/tune/row_fit.h"

#include <algorithm>
#include <cmath>

#include "compiler/config/tile_plan.h"
#include "heuristics/table.h"

namespace kaon::runner {
namespace {

constexpr const char* kDivisorKnob = "div.";

}  // namespace

RowFit::RowFit(const compiler::Kernel& logical, const compiler::ConfigSpace& space)
    : logical_(logical), space_(space), sets_(compiler::find_axis_sets(logical)) {
  for (const compiler::Knob& knob : space.knobs()) {
    if (knob.name.rfind(kDivisorKnob, 0) != 0) continue;
    const int dim = logical.signature.find_dim(knob.name.substr(4));
    int64_t most = 1;
    for (const std::string& choice : knob.choices) most = std::max<int64_t>(most, std::atoll(choice.c_str()));
    if (dim >= 0 && most > 1) divisors_.emplace_back(dim, most);
  }
}

const std::vector<RowFit::Row>& RowFit::rows(const Config& config) {
  const auto [at, is_new] = rows_.try_emplace(config);
  if (!is_new) return at->second;
  Config complete = config;
  for (const compiler::Knob& knob : space_.knobs()) {
    if (complete.find(knob.name) == nullptr) complete.set(knob.name, knob.default_value);
  }
  const Result<compiler::TilePlan> plan = compiler::plan_tiles(logical_, sets_, complete);
  if (!plan.is_ok()) return at->second;
  for (const auto& [id, block] : plan->blocks) {
    const compiler::Axis& axis = logical_.axis(id);
    if (!compiler::is_row_axis(axis) || axis.extent_value != compiler::kNoValue) continue;
    const Result<compiler::RowPlan> row = compiler::row_knob(complete, axis);
    if (!row.is_ok() || !row->resident) continue;
    // A shifted row may begin as much as a vector less one element late.
    const bool shifted = complete.get("shift." + axis.name, "0") == "1";
    at->second.push_back({axis.extent, block - (shifted ? complete.get_int("vec", 1) - 1 : 0)});
  }
  return at->second;
}

double RowFit::fill(const Config& config, const Shape& shape) {
  for (const auto& [dim, most] : divisors_) {
    const int64_t divisor = config.get_int(kDivisorKnob + logical_.signature.dims[static_cast<size_t>(dim)], 1);
    if (divisor > 1 && shape[static_cast<size_t>(dim)] % divisor != 0) return HUGE_VAL;
  }
  const std::vector<int64_t> slots =
      heuristics::contiguous_slots(logical_.signature, shape, std::vector<int64_t>(logical_.signature.scalars.size(), 0));
  double most = 0;
  for (const Row& row : rows(config)) {
    const auto extent = static_cast<double>(row.extent.evaluate(slots.data()));
    most = std::max(most, extent / static_cast<double>(std::max<int64_t>(1, row.capacity)));
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
