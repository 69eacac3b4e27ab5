// aot_runner shapes, cache, compile-worker.
#include <fmt/format.h>

#include <memory>

#include "aot_runner/compile/pool.h"
#include "aot_runner/tools/commands.h"
#include "aot_runner/tune/session.h"
#include "compiler/compile.h"

namespace kaon::runner {
namespace {

void print_set(const char* name, const std::vector<WeightedShape>& set) {
  fmt::print("{}: {} shapes\n", name, set.size());
  for (const WeightedShape& s : set) {
    fmt::print("  {}{}\n", shape_text(s.shape), s.weight == 1 ? std::string() : fmt::format("  weight {}", s.weight));
  }
}

int print_shapes(const TuneOptions& options) {
  Session session;
  session.options = options;
  if (const Status status = open_kernel(&session); !status.is_ok()) return fail(status);
  std::string dims;
  for (const std::string& dim : session.spec.dims) dims += (dims.empty() ? "" : " x ") + dim;
  fmt::print("{}: {}\n", session.kernel->name, dims);
  print_set("train", session.spec.train);
  print_set("measure", session.spec.measure);
  print_set("held_out", session.spec.held_out);
  for (const std::string& note : session.spec.notes) fmt::print("note: {}\n", note);
  return kExitOk;
}

int print_cache(bool prune) {
  Result<Environment> environment = read_environment();
  if (!environment.is_ok()) return fail(environment.status());
  Result<std::unique_ptr<Store>> store = Store::open(environment->cache_folder);
  if (!store.is_ok()) return fail(store.status());
  if (prune) {
    // What another compiler made can never be found again by this one; facts about devices stay.
    const std::string keep = fmt::format("\"compiler\":\"{}\"", compiler::compiler_version());
    if (const Status status = (*store)->prune(keep); !status.is_ok()) return fail(status);
  }
  Result<StoreUsage> usage = (*store)->usage();
  if (!usage.is_ok()) return fail(usage.status());
  fmt::print("{}: {} KB\n", (*store)->path(), usage->file_bytes / 1024);
  fmt::print("  {} variants, {} of them rejected; {} images, {} KB\n", usage->variants, usage->rejected, usage->images,
             usage->image_bytes / 1024);
  fmt::print("  {} measured cells, {} of them failed; {} runs, {} contexts\n", usage->cells, usage->failed_cells,
             usage->runs, usage->contexts);
  return kExitOk;
}

}  // namespace

void add_helper_commands(CLI::App* app, Action* action) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App* shapes = app->add_subcommand("shapes", "print the expanded sweep of a shapes file");
  shapes->add_option("tile", options->tile, "the kernel's source, a .tile file")->required();
  shapes->add_option("--shapes", options->shapes, "shapes file (JSON) or recording")->required();
  shapes->add_option("--kernel", options->kernel, "kernel, when the source defines several");
  shapes->callback([=] { *action = [=] { return print_shapes(*options); }; });

  auto prune = std::make_shared<bool>(false);
  CLI::App* cache = app->add_subcommand("cache", "what the store in $KAON_CACHE_DIR holds");
  cache->add_flag("--prune", *prune, "remove what other versions of the compiler made");
  cache->callback([=] { *action = [=] { return print_cache(*prune); }; });

  CLI::App* worker = app->add_subcommand("compile-worker", "answers compile jobs on standard input; started by tune");
  worker->group("");
  worker->callback([=] { *action = run_compile_worker; });
}

}  // namespace kaon::runner
