#include "aot_runner/tune/run.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "aot_runner/search/strategy.h"
#include "aot_runner/tune/collect.h"
#include "aot_runner/tune/images.h"

namespace kaon::runner {
namespace {

/// One dtype binding on its way through the phases.
struct BindingRun {
  const BoundKernel* binding = nullptr;
  ShapesSpec spec;  // its shapes
  std::unique_ptr<compiler::ConfigSpace> compiler_space;
  SearchSpace space;
  std::unique_ptr<CompilePool> pool;
  std::unique_ptr<Sweep> sweep;
  std::vector<Config> finalists;
  Config default_config, generic_config;
  double seconds = 0;
};

std::string binding_name(const Session& session, const BoundKernel& binding) {
  return binding.title.empty() ? session.kernel->name : session.kernel->name + " " + binding.title;
}

Result<BindingRun> open_binding(Session* session, const BoundKernel& binding) {
  BindingRun run;
  run.binding = &binding;
  run.spec = session->shapes_of(binding);
  run.compiler_space = std::make_unique<compiler::ConfigSpace>(binding.logical, session->target);
  run.space = search_space(binding.logical, *run.compiler_space);
  run.default_config = run.space.normalize(run.space.default_config);
  run.generic_config = run.space.normalize(run.space.generic_config);
  const bool may_make = !session->environment.assert_hit;
  if (may_make && !session->options.only_stored) {
    run.pool = std::make_unique<CompilePool>(
        CompileJob{binding.logical_ir, session->target.name, session->ptxas, session->options.checked},
        PoolOptions{.jobs = session->options.jobs});
  }
  SweepSetup setup;
  setup.store = session->store.get();
  KAON_ASSIGN_OR_RETURN(setup.compile_context, session->store->context(compile_context(session->compile_key(binding))));
  KAON_ASSIGN_OR_RETURN(setup.measure_context, session->store->context(measure_context(session->measure_key(binding))));
  if (session->environment.force) KAON_RETURN_IF_ERROR(session->store->forget_cells(setup.measure_context));
  setup.signature = binding.logical.signature;
  setup.scalar_bits = scalar_bits(setup.signature, session->spec.scalars);
  setup.compiler = run.pool.get();
  setup.profiler = may_make ? session->profiler.get() : nullptr;
  setup.progress = session->progress.get();
  setup.compile_meanwhile = !session->target.is_host;  // a CPU that compiles is no CPU to measure on
  run.sweep = std::make_unique<Sweep>(setup);
  KAON_RETURN_IF_ERROR(run.sweep->load());
  if (session->profiler == nullptr) return run;
  session->profiler->set_kernel({fmt::format("{}/{}", session->kernel->name, binding.title), binding.logical_ir,
                                 setup.signature.dims, session->spec.scalars, session->spec.data});
  return run;
}

SearchOptions search_options(const Session& session, const ShapesSpec& spec) {
  SearchOptions options;
  options.strategy = session.effort.trials < 0 ? "list" : session.options.search;
  options.seed = session.options.seed;
  options.trials = std::max(0, session.effort.trials);
  options.budget_seconds = session.effort.budget_seconds / static_cast<double>(session.bindings.size());
  options.final_configs = std::max(2, session.effort.final_configs);
  options.team_size = std::max(1, session.options.max_variants - 1);
  // What a final config is measured on beside the train set.
  options.overhead_shapes = static_cast<double>(spec.measure.size() + 2 * spec.held_out.size());
  return options;
}

/// The strategy of a binding; with effort none, the seeds alone.
Result<std::unique_ptr<Strategy>> open_strategy(const Session& session, const BindingRun& run) {
  const Problem problem{&run.space, run.spec.train};
  const SearchOptions options = search_options(session, run.spec);
  if (session.effort.trials < 0) return make_list_strategy(problem, options);
  return make_strategy(problem, options);
}

Status compile_phase(Session* session, BindingRun* run) {
  KAON_ASSIGN_OR_RETURN(std::unique_ptr<Strategy> strategy, open_strategy(*session, *run));
  session->progress->phase(fmt::format("compile {}", binding_name(*session, *run->binding)));
  std::vector<Config> configs;
  // Nothing is told back, so a strategy that learns has only its first questions; one that does not has all of them.
  const bool learns = session->options.search == "quick";
  for (std::vector<Ask> batch = strategy->ask(); !batch.empty(); batch = strategy->ask()) {
    for (const Ask& ask : batch) configs.push_back(ask.config);
    if (learns) break;
  }
  KAON_RETURN_IF_ERROR(run->sweep->compile_all(configs));
  session->progress->finish();
  return Status::ok();
}

Status search_phase(Session* session, BindingRun* run) {
  KAON_ASSIGN_OR_RETURN(std::unique_ptr<Strategy> strategy, open_strategy(*session, *run));
  session->progress->phase(fmt::format("search {}: {} train shapes, {} configs in the space, {} search",
                                       binding_name(*session, *run->binding), run->spec.train.size(),
                                       run->compiler_space->size(), session->options.search));
  KAON_RETURN_IF_ERROR(run->sweep->run_search(strategy.get(), run->spec.train));
  session->progress->finish();
  run->finalists = strategy->finalists();
  run->seconds = strategy->seen().spent_seconds();
  return Status::ok();
}

/// Every final config on every shape of a set, in one pass.
Status matrix_phase(Session* session, BindingRun* run, const char* title, const std::vector<WeightedShape>& shapes,
                    int pass) {
  if (shapes.empty()) return Status::ok();
  session->progress->phase(fmt::format("{} {}: {} configs on {} shapes", title, binding_name(*session, *run->binding),
                                       run->finalists.size(), shapes.size()));
  session->progress->batch("", static_cast<int>(run->finalists.size() * shapes.size()), 0);
  const auto is_wanted = [&](const Config& config, const Shape& shape) {
    return worth_measuring(run->space, config, shape, kLeastFillOfFinal);
  };
  KAON_RETURN_IF_ERROR(run->sweep->fill(run->finalists, shapes, pass, is_wanted));
  session->progress->finish();
  for (const Config& config : run->finalists) {
    for (const WeightedShape& s : shapes) {
      if (const StoredCell* cell = run->sweep->cell(config, s.shape, pass); cell != nullptr)
        run->seconds += cell->seconds;
    }
  }
  return Status::ok();
}

Status measure_binding(Session* session, BindingRun* run, Phase until) {
  if (until == Phase::kCompile) return compile_phase(session, run);
  KAON_RETURN_IF_ERROR(search_phase(session, run));
  KAON_RETURN_IF_ERROR(matrix_phase(session, run, "measure", run->spec.train, 0));
  KAON_RETURN_IF_ERROR(matrix_phase(session, run, "measure", run->spec.measure, 0));
  if (until == Phase::kMeasure) return Status::ok();
  KAON_RETURN_IF_ERROR(matrix_phase(session, run, "evaluate, pass 1,", run->spec.held_out, 0));
  return matrix_phase(session, run, "evaluate, pass 2,", run->spec.held_out, 1);
}

void add_counts(const SweepCounts& from, SweepCounts* to) {
  to->compiled += from.compiled;
  to->rejected += from.rejected;
  to->reused_variants += from.reused_variants;
  to->measured += from.measured;
  to->failed += from.failed;
  to->reused_cells += from.reused_cells;
}

/// Configs that the distiller kept, per binding.
std::vector<std::vector<Config>> kept_configs(const heuristics::Measurements& measurements,
                                              const heuristics::TrainingSet& training) {
  std::vector<std::vector<Config>> kept(measurements.tables.size());
  for (size_t t = 0; t < training.tables.size(); ++t) {
    for (int32_t c : training.tables[t].kept) {
      kept[t].push_back(measurements.tables[t].configs[static_cast<size_t>(c)].variant.config);
    }
  }
  return kept;
}

Status make_outputs(Session* session, Phase until, TuneResult* result) {
  session->progress->phase("distill");
  heuristics::DistillOptions options;
  options.max_variants = session->options.max_variants;
  KAON_ASSIGN_OR_RETURN(result->training, heuristics::make_training(result->measurements, options));
  KAON_ASSIGN_OR_RETURN(const VariantImages images,
                        gather_variant_images(session, kept_configs(result->measurements, result->training)));
  KAON_ASSIGN_OR_RETURN(
      result->artifacts,
      make_artifacts(result->measurements, result->training,
                     [&](int table, const Config& config) -> Result<std::vector<heuristics::VariantImage>> {
                       return images[static_cast<size_t>(table)].at(config);
                     }));
  result->folder = output_base(session->options) + "/" + session->device.hardware;
  if (until == Phase::kDistill) {
    // Measurements and training table only: what `emit` needs, and what another machine may continue from.
    std::erase_if(result->artifacts.files,
                  [](const auto& file) { return file.first != "measurements.json" && file.first != "training.json"; });
  } else {
    session->progress->phase("emit");
  }
  KAON_ASSIGN_OR_RETURN(result->paths, write_artifacts(result->artifacts, result->folder));
  return Status::ok();
}

/// The rows and cells of the shapes for which `keep` has an entry, with the weights and roles that it says.
heuristics::Table reweighted(const heuristics::Table& table,
                             const std::map<std::vector<int64_t>, heuristics::Shape>& keep) {
  heuristics::Table out = table;
  out.shapes.clear();
  std::vector<int> kept;
  for (int s = 0; s < table.num_shapes(); ++s) {
    const auto found = keep.find(table.shapes[static_cast<size_t>(s)].slots);
    if (found == keep.end()) continue;
    out.shapes.push_back(found->second);
    kept.push_back(s);
  }
  out.passes.clear();
  for (int pass = 0; pass < table.num_passes(); ++pass) {
    out.add_pass();
    for (int c = 0; c < table.num_configs(); ++c) {
      for (size_t s = 0; s < kept.size(); ++s) out.cell(pass, c, static_cast<int>(s)) = table.cell(pass, c, kept[s]);
    }
  }
  return out;
}

/// Whether the table is of the binding's element types and, of a specialised kernel, its values.
bool is_table_of(const heuristics::Table& table, const BoundKernel& binding) {
  const std::vector<std::pair<int, int64_t>> values = table.specialised_values();
  const auto agrees = [&](const std::pair<int, int64_t>& value) {
    const auto own = binding.constants.find(table.signature.slot_names()[static_cast<size_t>(value.first)]);
    return own != binding.constants.end() && own->second == value.second;
  };
  return binding.dtypes == table.dtype_key() && std::all_of(values.begin(), values.end(), agrees);
}

/// The shapes of `spec` as rows of `measured`. kInvalidArgument for one that it lacks.
Result<std::map<std::vector<int64_t>, heuristics::Shape>> shapes_now(const Session& session, const ShapesSpec& spec,
                                                                     const heuristics::Table& measured) {
  std::map<std::vector<int64_t>, heuristics::Shape> now;
  std::set<std::vector<int64_t>> known;
  for (const heuristics::Shape& shape : measured.shapes) known.insert(shape.slots);
  const Signature& signature = measured.signature;
  const std::vector<int64_t> scalars = scalar_bits(signature, session.spec.scalars);
  const auto add = [&](const std::vector<WeightedShape>& set, heuristics::Role role) {
    for (const WeightedShape& s : set) {
      std::vector<int64_t> slots = heuristics::contiguous_slots(signature, s.shape, scalars);
      if (known.count(slots) == 0) {
        return Status(Code::kInvalidArgument,
                      fmt::format("{} was not measured; leave it out of {}, or run `aot_runner tune`",
                                  heuristics::shape_text(signature, slots), session.options.shapes));
      }
      now[slots] = {slots, s.weight, role};
    }
    return Status::ok();
  };
  KAON_RETURN_IF_ERROR(add(spec.train, heuristics::Role::kTrain));
  KAON_RETURN_IF_ERROR(add(spec.measure, heuristics::Role::kMeasure));
  KAON_RETURN_IF_ERROR(add(spec.held_out, heuristics::Role::kHeldOut));
  return now;
}

}  // namespace

std::string output_base(const TuneOptions& options) {
  const std::string base =
      options.out.empty() ? std::filesystem::path(options.tile).parent_path().string() : options.out;
  return (base.empty() ? std::string(".") : base) + (options.checked ? "/checked" : "");
}

Result<TuneResult> run_tune(Session* session, Phase until) {
  TuneResult result;
  if (until >= Phase::kDistill) {
    KAON_RETURN_IF_ERROR(check_writable_folder(output_base(session->options) + "/" + session->device.hardware));
  }
  std::vector<heuristics::Table> tables;
  double seconds = 0;
  for (const BoundKernel& binding : session->bindings) {
    KAON_ASSIGN_OR_RETURN(BindingRun run, open_binding(session, binding));
    KAON_RETURN_IF_ERROR(measure_binding(session, &run, until));
    add_counts(run.sweep->counts(), &result.counts);
    seconds += run.seconds;
    if (until < Phase::kDistill) continue;
    KAON_ASSIGN_OR_RETURN(heuristics::Table table, collect_table(*session, binding, run.spec, *run.sweep, run.finalists,
                                                                 run.default_config, run.generic_config));
    tables.push_back(std::move(table));
  }
  if (until < Phase::kDistill) return result;
  result.measurements = collect_measurements(*session, std::move(tables), seconds);
  KAON_RETURN_IF_ERROR(heuristics::validate(result.measurements));
  KAON_RETURN_IF_ERROR(make_outputs(session, until, &result));
  KAON_RETURN_IF_ERROR(session->store->complete_run(session->run.key));
  return result;
}

Result<TuneResult> run_redistill(Session* session, heuristics::Measurements measurements) {
  TuneResult result;
  KAON_RETURN_IF_ERROR(check_writable_folder(output_base(session->options) + "/" + session->device.hardware));
  // gather_variant_images() takes bindings and tables side by side.
  std::vector<BoundKernel> bindings;
  for (heuristics::Table& table : measurements.tables) {
    const auto binding = std::find_if(session->bindings.begin(), session->bindings.end(),
                                      [&](const BoundKernel& b) { return is_table_of(table, b); });
    if (binding == session->bindings.end()) {
      return Status(Code::kInvalidArgument, fmt::format("{} was measured for dtypes {}, which {} does not name",
                                                        measurements.kernel, table.key(), session->options.shapes));
    }
    KAON_ASSIGN_OR_RETURN(const auto now, shapes_now(*session, session->shapes_of(*binding), table));
    bindings.push_back(std::move(*binding));
    table = reweighted(table, now);
  }
  session->bindings = std::move(bindings);
  result.measurements = std::move(measurements);
  KAON_RETURN_IF_ERROR(heuristics::validate(result.measurements));
  KAON_RETURN_IF_ERROR(make_outputs(session, Phase::kEmit, &result));
  return result;
}

}  // namespace kaon::runner
