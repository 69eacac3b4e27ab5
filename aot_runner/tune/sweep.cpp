#include "aot_runner/tune/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>

#include "aot_runner/measure/protocol.h"
#include "heuristics/table.h"
#include "runtime/base/guards.h"

namespace kaon::runner {

bool Sweep::CellKey::operator<(const CellKey& other) const {
  return std::tie(pass, shape, config) < std::tie(other.pass, other.shape, other.config);
}

Status Sweep::load() {
  KAON_ASSIGN_OR_RETURN(const std::vector<StoredVariant> variants, setup_.store->variants(setup_.compile_context));
  for (const StoredVariant& variant : variants) KAON_RETURN_IF_ERROR(remember(variant));
  KAON_ASSIGN_OR_RETURN(std::vector<StoredCell> cells, setup_.store->cells(setup_.measure_context));
  for (StoredCell& cell : cells) {
    CellKey key{cell.config, cell.shape, cell.pass};
    cells_.emplace(std::move(key), std::move(cell));
  }
  return Status::ok();
}

Status Sweep::remember(const StoredVariant& variant) {
  if (variant.code == Code::kOk) {
    KAON_ASSIGN_OR_RETURN(VariantInfo info, variant_from_json(variant.info));
    infos_[variant.config] = std::move(info);
  }
  variants_[variant.config] = variant;
  return Status::ok();
}

const StoredVariant* Sweep::variant(const Config& config) const {
  const auto it = variants_.find(config);
  return it == variants_.end() ? nullptr : &it->second;
}

const VariantInfo* Sweep::info(const Config& config) const {
  const auto it = infos_.find(config);
  return it == infos_.end() ? nullptr : &it->second;
}

const StoredCell* Sweep::cell(const Config& config, const Shape& shape, int pass) const {
  const auto it = cells_.find(CellKey{config, shape_text(shape), pass});
  return it == cells_.end() ? nullptr : &it->second;
}

std::vector<int64_t> Sweep::slots(const Shape& shape) const {
  return heuristics::contiguous_slots(setup_.signature, shape, setup_.scalar_bits);
}

bool Sweep::serves(const Config& config, const Shape& shape) const {
  const VariantInfo* known = info(config);
  if (known == nullptr) return false;
  return first_refusing(setup_.signature, known->guards, slots(shape).data()) < 0;
}

Outcome Sweep::outcome(const Config& config, const Shape& shape, int pass) const {
  const StoredVariant* compiled = variant(config);
  if (compiled == nullptr || compiled->code != Code::kOk) return {Outcome::Kind::kFailed, 0, 0};
  const StoredCell* known = cell(config, shape, pass);
  if (known == nullptr || known->failure == Failure::kGuard) return {Outcome::Kind::kExcluded, 0, 0};
  const auto kind = known->failure == Failure::kNone ? Outcome::Kind::kTimed : Outcome::Kind::kFailed;
  return {kind, known->median_us, known->seconds};
}

Status Sweep::missing(const char* what) const {
  return {Code::kNotFound,
          fmt::format("{} is not in the store and may not be made now; run without KAON_ASSERT_CACHE_HIT, "
                      "or tune on a machine that can",
                      what)};
}

std::vector<Config> Sweep::not_compiled(const std::vector<Config>& configs) {
  std::vector<Config> needed;
  std::set<Config> once;
  for (const Config& config : configs) {
    if (!once.insert(config).second) continue;
    if (variants_.count(config) == 0) {
      needed.push_back(config);
    } else {
      ++counts_.reused_variants;
    }
  }
  return needed;
}

Status Sweep::keep(CompileOutcome outcome) {
  KAON_RETURN_IF_ERROR(setup_.store->put_variant(setup_.compile_context, outcome.variant, outcome.image));
  ++(outcome.variant.code == Code::kOk ? counts_.compiled : counts_.rejected);
  if (setup_.progress != nullptr) setup_.progress->compiled(outcome.variant.code == Code::kOk);
  return remember(outcome.variant);
}

Status Sweep::compile_all(const std::vector<Config>& configs) {
  KAON_RETURN_IF_ERROR(begin_compiling(configs));
  return finish_compiling({});
}

Status Sweep::begin_compiling(const std::vector<Config>& configs) {
  std::vector<Config> needed = not_compiled(configs);
  if (needed.empty()) return Status::ok();
  if (setup_.compiler == nullptr) return missing("a compiled variant");
  if (!setup_.compile_meanwhile) {
    return setup_.compiler->compile(needed, [&](CompileOutcome outcome) { return keep(std::move(outcome)); });
  }
  if (thread_ == nullptr) thread_ = std::make_unique<CompileThread>(setup_.compiler);
  thread_->begin(std::move(needed));
  is_compiling_ = true;
  return Status::ok();
}

Status Sweep::finish_compiling(const std::vector<Config>& configs) {
  const auto is_known = [&](const Config& config) { return variants_.count(config) > 0; };
  while (is_compiling_ && (configs.empty() || !std::all_of(configs.begin(), configs.end(), is_known))) {
    Result<std::vector<CompileOutcome>> outcomes = thread_->wait();
    if (!outcomes.is_ok() || outcomes->empty()) is_compiling_ = false;
    KAON_RETURN_IF_ERROR(outcomes.status());
    for (CompileOutcome& outcome : *outcomes) KAON_RETURN_IF_ERROR(keep(std::move(outcome)));
  }
  return Status::ok();
}

Status Sweep::measure_shape(const Shape& shape, int pass, const std::vector<Config>& configs) {
  std::vector<StoredVariant> needed;
  for (const Config& config : configs) {
    if (cell(config, shape, pass) != nullptr) {
      ++counts_.reused_cells;
      if (setup_.progress != nullptr) setup_.progress->cell(/*reused=*/true, /*failed=*/false);
      continue;
    }
    if (serves(config, shape)) {
      needed.push_back(*variant(config));
    } else if (setup_.progress != nullptr) {
      setup_.progress->cell(/*reused=*/true, /*failed=*/false);
    }
  }
  const auto step = static_cast<size_t>(setup_.cells_per_request);
  for (size_t first = 0; first < needed.size(); first += step) {
    if (interrupted()) return interrupt_status();
    if (setup_.profiler == nullptr) return missing("a measured time");
    const std::vector<StoredVariant> group(needed.begin() + static_cast<long>(first),
                                           needed.begin() + static_cast<long>(std::min(needed.size(), first + step)));
    KAON_RETURN_IF_ERROR(setup_.profiler->measure(shape, pass, group, [&](const std::vector<StoredCell>& cells) {
      KAON_RETURN_IF_ERROR(setup_.store->put_cells(setup_.measure_context, cells));
      for (const StoredCell& c : cells) {
        const bool failed = c.failure != Failure::kNone && c.failure != Failure::kGuard;
        ++counts_.measured;
        counts_.failed += failed ? 1 : 0;
        cells_[CellKey{c.config, c.shape, c.pass}] = c;
        if (setup_.progress != nullptr) setup_.progress->cell(/*reused=*/false, failed);
      }
      return Status::ok();
    }));
  }
  return Status::ok();
}

Status Sweep::fill(const std::vector<Config>& configs, const std::vector<WeightedShape>& shapes, int pass,
                   const std::function<bool(const Config&, const Shape&)>& is_wanted) {
  KAON_RETURN_IF_ERROR(compile_all(configs));
  for (const WeightedShape& shape : shapes) {
    std::vector<Config> wanted;
    std::copy_if(configs.begin(), configs.end(), std::back_inserter(wanted),
                 [&](const Config& config) { return is_wanted(config, shape.shape); });
    KAON_RETURN_IF_ERROR(measure_shape(shape.shape, pass, wanted));
  }
  return Status::ok();
}

Status Sweep::run_search(Strategy* strategy, const std::vector<WeightedShape>& shapes) {
  charged_.clear();
  for (;;) {
    const std::vector<Ask> batch = strategy->ask();
    if (batch.empty()) return Status::ok();
    int cells = 0;
    std::vector<Config> configs;
    std::map<int, std::vector<Config>> by_shape;
    for (const Ask& ask : batch) {
      for (const int s : ask.shapes) by_shape[s].push_back(ask.config);
      cells += static_cast<int>(ask.shapes.size());
      if (ask.shapes.empty()) configs.push_back(ask.config);
    }
    // What the first shape needs is compiled first, so that it can be measured while the rest compiles.
    for (const auto& [s, here] : by_shape) configs.insert(configs.end(), here.begin(), here.end());
    if (setup_.progress != nullptr) setup_.progress->batch(strategy->stage(), cells, strategy->expected_cells());
    KAON_RETURN_IF_ERROR(begin_compiling(configs));
    for (const auto& [s, here] : by_shape) {
      KAON_RETURN_IF_ERROR(finish_compiling(here));
      KAON_RETURN_IF_ERROR(measure_shape(shapes[static_cast<size_t>(s)].shape, /*pass=*/0, here));
    }
    KAON_RETURN_IF_ERROR(finish_compiling({}));
    std::vector<std::vector<Outcome>> outcomes;
    for (const Ask& ask : batch) {
      std::vector<Outcome> row;
      for (int s : ask.shapes) row.push_back(outcome(ask.config, shapes[static_cast<size_t>(s)].shape, /*pass=*/0));
      // A compile is paid for once, with the first cell that needed it.
      if (!row.empty() && !std::exchange(charged_[ask.config], true))
        row[0].cost_seconds += variant(ask.config)->seconds;
      outcomes.push_back(std::move(row));
    }
    strategy->tell(batch, outcomes);
  }
}

}  // namespace kaon::runner
