// aot_runner tune and its phases.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>

#include "aot_runner/report/summary.h"
#include "aot_runner/tools/commands.h"
#include "aot_runner/tune/run.h"

namespace kaon::runner {
namespace {

struct PhaseCommand {
  const char* name;
  Phase until;
  const char* about;
};

constexpr PhaseCommand kCommands[] = {
    {"tune", Phase::kEmit, "compile, measure, distill, emit, evaluate and report in one go"},
    {"compile", Phase::kCompile,
     "only compile candidates into the store (all of them with --search exhaustive or random)"},
    {"measure", Phase::kMeasure, "search and measure the train and measure sets into the store"},
    {"evaluate", Phase::kEvaluate, "as measure, then the held-out set in two passes"},
    {"distill", Phase::kDistill,
     "as evaluate, then choose variants and tree; writes measurements.json and training.json"},
};

constexpr const char* kTuneFooter = R"(
Examples:
  aot_runner tune softmax.tile --shapes softmax.shapes.json                        the default search, about ten minutes
  aot_runner tune softmax.tile --shapes s.json --device host --effort quick        without a GPU, in a minute or two
  aot_runner tune softmax.tile --shapes s.json --search exhaustive --dtypes f16    every legal config
  aot_runner tune softmax.tile --shapes s.json --targets sm_80,sm_100,sm_120       images for chips that are not here too
  aot_runner tune softmax.tile -- ./my_benchmark --iterations 10                   for the shapes that a program uses

Files written to <out>/<hardware>/: <kernel>_<hardware>.gen.cpp, .kpack and _pack.S to commit and build, and measurements.json,
training.json and report.json as their evidence. Commit all of them.
)";

void add_options(CLI::App* command, TuneOptions* o) {
  command->add_option("tile", o->tile, "the kernel's source, a .tile file")->required();
  command->add_option("--shapes", o->shapes, "shapes file (JSON), or a recording made with KAON_RECORD");
  command->add_option("--kernel", o->kernel, "kernel to tune, when the source defines several");
  command->add_option("--dtypes", o->dtypes, "only these dtypes: f16,f32")->delimiter(',');
  command->add_option("--device", o->device, "auto, host, cuda or cuda:N")->capture_default_str();
  command->add_option("--out", o->out, "folder for the results (default: beside the .tile)");
  command->add_option("--search", o->search, "how configs are proposed")
      ->check(CLI::IsMember({"quick", "random", "exhaustive"}))
      ->capture_default_str();
  command->add_option("--effort", o->effort, "none: the default config only; quick: two minutes; full: nine")
      ->check(CLI::IsMember({"none", "quick", "full"}));
  command->add_option("--trials", o->trials, "configs to try at most, beside the default one")
      ->check(CLI::PositiveNumber);
  command
      ->add_option("--budget-seconds", o->budget_seconds,
                   "time for compiling and measuring, over all dtypes; 0: no limit")
      ->check(CLI::NonNegativeNumber);
  command->add_option("--max-variants", o->max_variants, "variants kept per dtype, at most")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command->add_option("--final-configs", o->final_configs, "configs measured on every shape, at most")
      ->check(CLI::Range(2, 512));
  command->add_option("--seed", o->seed, "of search and inputs")->capture_default_str();
  command->add_option("--jobs", o->jobs, "compilers at a time (default: one per core)")->check(CLI::PositiveNumber);
  command->add_option("--targets", o->targets, "further chips to cross-compile the kept variants for: sm_80,sm_120")
      ->delimiter(',');
  command->add_option("--date", o->date, "date to write into the results, YYYY-MM-DD (default: the run's first start)");
  command->add_flag("--checked", o->checked,
                    "for a debugging session: variants that stop at asserts and at indices out of range and name the "
                    "place, in <out>/checked/<hardware>; --effort none makes them fast");
  command->add_flag("--only-stored", o->only_stored,
                    "compile nothing: measure what another machine compiled into the store");
  command->add_flag("--json-progress", o->json_progress, "progress as one JSON object a line on stderr");
  command->add_flag("--quiet", o->quiet, "no progress, only the summary");
}

std::string quoted(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) {
    const bool plain = word.find_first_of(" '\"$\\*?&|;<>()`") == std::string::npos && !word.empty();
    line += plain ? " " + word : " '" + word + "'";
  }
  return line;
}

int fail(const Status& status, const Session& session) {
  if (is_interrupt(status)) {
    fmt::print(stderr, "\ninterrupted; everything measured so far is kept. To resume:\n  aot_runner{}\n",
               quoted(session.options.command_line));
    return kExitInterrupted;
  }
  fmt::print(stderr, "error: {}\n", status.message());
  return status.code() == Code::kNotFound && status.message().find("no config could be measured") != std::string::npos
             ? kExitNothing
             : kExitUser;
}

void print_plan(Session* session) {
  Progress& progress = *session->progress;
  progress.phase(fmt::format("{} on {} ({}, driver {})", session->kernel->name, session->device.name,
                             session->device.hardware, session->device.driver));
  std::vector<std::string> dtypes;
  for (const BoundKernel& binding : session->bindings)
    dtypes.push_back(binding.title.empty() ? "no generics" : binding.title);
  progress.line(fmt::format("{} train, {} measure, {} held-out shapes; dtypes {}", session->spec.train.size(),
                            session->spec.measure.size(), session->spec.held_out.size(), fmt::join(dtypes, ", ")));
  for (const std::string& note : session->spec.notes) progress.line(note);
  const std::string path = session->store->path();
  progress.line(fmt::format("store {}{}", path.empty() ? std::string("in memory") : path,
                            session->run.complete ? "; this run was completed before, its results are reused"
                            : session->run.interruptions > 0
                                ? fmt::format("; resumed, start number {}", session->run.interruptions + 1)
                                : std::string()));
  progress.line(fmt::format("noise floor {:.1f} % or {:.0f} ns, copy {:.0f} GB/s, empty graph {:.2f} us",
                            100 * session->calibration.noise_relative, 1000 * session->calibration.noise_absolute_us,
                            session->calibration.copy_gb_per_s, session->calibration.empty_us));
}

void print_results(const Session& session, const TuneResult& result) {
  fmt::print("\n{}\n", report_text(result.measurements, result.artifacts.distilled));
  for (const std::string& path : result.paths) fmt::print("wrote {}\n", path);
  if (session.options.quiet) return;
  if (session.options.checked) {
    fmt::print(
        "\nNext: run the program with KAON_HEURISTIC_DIR={}; a kernel stops where an assert fails or an index is out "
        "of "
        "range, and says where.\n",
        result.folder);
    return;
  }
  fmt::print(
      "\nNext: commit the files of {}; add the .gen.cpp and the _pack.S to your target and link kaon::runtime.\n"
      "Ask why a shape gets its variant: aot_runner explain --from {} --shape {}\n",
      result.folder, result.folder, shape_text(session.spec.train.front().shape));
}

int run(const TuneOptions& options, Phase until) {
  install_interrupt_handlers();
  Session session;
  session.options = options;
  ProgressOptions progress = detect_progress(stderr);
  progress.json = options.json_progress;
  progress.quiet = options.quiet;
  session.progress = std::make_unique<Progress>(progress);
  if (options.shapes.empty() == options.program.empty()) {
    fmt::print(stderr, "error: say which shapes to tune for: either --shapes FILE or -- PROGRAM ARGS\n");
    return kExitUsage;
  }
  // Before a program is recorded or anything is tuned: hours of work must not end at a folder that takes no files.
  if (until >= Phase::kDistill) {
    if (const Status status = check_writable_folder(output_base(options)); !status.is_ok())
      return fail(status, session);
  }
  if (const Status status = open_kernel(&session); !status.is_ok()) return fail(status, session);
  if (!session.source->warnings().empty()) fmt::print(stderr, "{}", session.source->warnings());
  if (const Status status = open_machine(&session); !status.is_ok()) return fail(status, session);
  if (options.compile_for.empty()) print_plan(&session);
  Result<TuneResult> result = run_tune(&session, until);
  if (!result.is_ok()) return fail(result.status(), session);
  const SweepCounts& counts = result->counts;
  fmt::print(
      stderr, "{} variants compiled, {} rejected, {} from the store; {} cells measured, {} failed, {} from the store\n",
      counts.compiled, counts.rejected, counts.reused_variants, counts.measured, counts.failed, counts.reused_cells);
  if (until >= Phase::kDistill) print_results(session, *result);
  return kExitOk;
}

int redistill(const TuneOptions& options, const std::string& from) {
  Session session;
  session.options = options;
  ProgressOptions progress = detect_progress(stderr);
  progress.quiet = options.quiet;
  session.progress = std::make_unique<Progress>(progress);
  Result<Loaded> loaded = load_measurements(from);
  if (!loaded.is_ok()) return fail(loaded.status(), session);
  session.options.checked = is_checked_hash(loaded->measurements.origin.source_hash);
  if (const Status status = open_kernel(&session); !status.is_ok()) return fail(status, session);
  if (const std::string now = session.source->source_hash(); now != loaded->measurements.origin.source_hash) {
    fmt::print(stderr, "error: {} was measured for another text of {}; run `aot_runner tune`\n", from, options.tile);
    return kExitUser;
  }
  if (const Status status = open_store(&session, loaded->measurements); !status.is_ok()) return fail(status, session);
  Result<TuneResult> result = run_redistill(&session, std::move(loaded->measurements));
  if (!result.is_ok()) return fail(result.status(), session);
  print_results(session, *result);
  return kExitOk;
}

constexpr const char* kRedistillFooter = R"(
Measuring takes minutes on the right machine; choosing takes seconds anywhere. Change weights, roles or the number of variants, and
look at the held-out result again:
  aot_runner redistill softmax.tile --from sm90 --shapes softmax.shapes.json --max-variants 6 --out /tmp/six
The store in $KAON_CACHE_DIR must be the one of the run (or a copy): it has the images of all variants that were measured.
)";

void add_redistill_command(CLI::App* app, Action* action) {
  CLI::App* command = app->add_subcommand(
      "redistill", "choose variants and tree anew from a finished run, with other weights; needs no device");
  command->footer(kRedistillFooter);
  auto options = std::make_shared<TuneOptions>();
  auto from = std::make_shared<std::string>();
  command->add_option("tile", options->tile, "the kernel's source, a .tile file")->required();
  command->add_option("--from", *from, "measurements.json of the run, or its folder")->required();
  command->add_option("--shapes", options->shapes, "shapes file (JSON): weights and roles of shapes that were measured")
      ->required();
  command->add_option("--kernel", options->kernel, "kernel of the run, when the source defines several");
  command->add_option("--out", options->out, "folder for the results (default: beside the .tile)");
  command->add_option("--max-variants", options->max_variants, "variants kept per dtype, at most")
      ->check(CLI::Range(1, 64))
      ->capture_default_str();
  command
      ->add_option("--targets", options->targets, "further chips to cross-compile the kept variants for: sm_80,sm_120")
      ->delimiter(',');
  command->add_option("--jobs", options->jobs, "compilers at a time (default: one per core)")
      ->check(CLI::PositiveNumber);
  command->add_flag("--quiet", options->quiet, "no progress, only the summary");
  command->callback([=] { *action = [=] { return redistill(*options, *from); }; });
}

}  // namespace

void add_tune_commands(CLI::App* app, Action* action, const std::vector<std::string>& typed,
                       const std::vector<std::string>& program) {
  for (const PhaseCommand& phase : kCommands) {
    CLI::App* command = app->add_subcommand(phase.name, phase.about);
    command->footer(kTuneFooter);
    auto options = std::make_shared<TuneOptions>();
    add_options(command, options.get());
    if (phase.until == Phase::kCompile) {
      command->add_option("--compile-for", options->compile_for,
                          "compile for this target, whose device need not be here: sm_90");
    }
    command->callback([=] {
      options->program = program;
      options->command_line = typed;
      if (!program.empty()) {
        options->command_line.push_back("--");
        options->command_line.insert(options->command_line.end(), program.begin(), program.end());
      }
      *action = [=] { return run(*options, phase.until); };
    });
  }
  add_redistill_command(app, action);
}

}  // namespace kaon::runner
