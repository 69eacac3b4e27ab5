// Runs kernels on a target over shapes, data and configs, and compares them with the oracle.
#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "compiler/target/target.h"
#include "tests/support/case_data.h"
#include "tests/support/case_run.h"
#include "tests/support/case_source.h"
#include "tests/support/isolate.h"

namespace kaon::compiler {
namespace {

constexpr int kExitFailures = 1;
constexpr int kExitUsage = 2;
constexpr int kExitSkipped = 77;
constexpr int kHostMaxWarps = 4;  // the checking machine runs thread by thread

constexpr const char* kHelp =
    R"(Runs kernels over shapes, data and configs, and compares all that they leave in memory with the interpreter.

  kernel_cases tests/kernels                        every case on the CPU's checking machine
  kernel_cases tests/kernels --target sm_90         the same on this machine's GPU
  kernel_cases tests/kernels --target sm_90 --compile-only      what runs there is compiled here, without a GPU
  kernel_cases softmax.tile                         shapes, configs and data are chosen by themselves
  kernel_cases softmax.cases --kernel softmax --shape 'M=3 N=127' --config 'num_warps=2'

A failure prints such a command that repeats it alone. A file foo.cases says how foo.tile's kernels are run:

  # up to the end of the line is a comment
  file ../softmax.tile            another file than foo.tile; the tile blocks of a .md file as well
  kernel softmax                  what follows is about this kernel
  dtypes T=f16 | T=f32            default: every binding
  const W=4 | W=8                 constexpr parameters
  shape M=[0, 1, 3] N=[1, 127]    dimensions and scalars; lists are multiplied out
  shape B=4 NNZ=B*10 eps=0.5      a value may use those before it
  large M=4096 N=8193             only with --large
  data ids = sorted(0, N)         how a tensor is drawn; an output's start value too
  data at = offsets(NNZ) | offsets(NNZ, giant)      alternatives: every shape is run with each
  config num_warps=2 block.m=4    beside the default and the generic config
  configs 5                       how many random configs, default 3
  edges misaligned special        default all that apply; or none

Kernels that no case names run with automatic shapes. Edges, each on one shape: misaligned (bases), padded (rows),
strided (no unit stride), negative and broadcast (strides), special (NaN, infinities, extremes), inplace (aliases).

Data:
)";

struct Arguments {
  std::vector<std::string> paths;
  CaseFilter filter;
  RunOptions run;
  int jobs = 0;
  bool is_verbose = false;
};

/// 'a b' in quotes where a shell would split it.
std::string shell_word(const std::string& text) {
  const bool is_plain = !text.empty() && text.find_first_of(" ()'*[]|") == std::string::npos;
  return is_plain ? text : "'" + text + "'";
}

std::string repeat_command(const CaseItem& item, const RunOptions& options, const CaseId& id,
                           const std::string& config) {
  std::string text = "kernel_cases " + shell_word(item.path) + " --kernel " + item.kernel;
  if (!item.dtypes.empty()) text += " --dtypes " + shell_word(binding_text(item.dtypes));
  std::string consts;
  for (const auto& [name, value] : item.consts)
    consts += (consts.empty() ? "" : " ") + name + "=" + std::to_string(value);
  if (!consts.empty()) text += " --const " + shell_word(consts);
  if (!id.shape.empty()) text += " --shape " + shell_word(shape_text(id.shape)) + " --edge " + id.edge;
  if (id.data > 0) text += " --data " + std::to_string(id.data);
  if (!config.empty()) text += " --config " + shell_word(config);
  if (options.seed != 1) text += " --seed " + std::to_string(options.seed);
  if (options.target != "host") text += " --target " + options.target;
  if (options.compile_only) text += " --compile-only";
  if (options.checked) text += " --checked";
  return text;
}

std::string encode(const RunReport& r) {
  std::ostringstream out;
  out << r.configs << ' ' << r.calls << ' ' << r.refused << ' ' << r.undecided << ' ' << r.compared << ' ' << r.failures
      << '\n'
      << r.text;
  return out.str();
}

RunReport decode(const std::string& text) {
  RunReport report;
  std::istringstream in(text);
  in >> report.configs >> report.calls >> report.refused >> report.undecided >> report.compared >> report.failures;
  const size_t line = text.find('\n');
  if (line != std::string::npos) report.text = text.substr(line + 1);
  return report;
}

Result<std::unique_ptr<CaseDevice>> open_device(const RunOptions& options) {
  return options.compile_only ? open_compile_only_device(options.target) : open_case_device(options.target);
}

/// Opens the device on first use, once a process.
bool work_on(const CaseItem& item, const RunOptions& options, ItemLog& log, RunReport* report) {
  static Result<std::unique_ptr<CaseDevice>> device = open_device(options);
  const auto refuse = [&](const Status& status) {
    report->failures = 1;
    report->text = repeat_command(item, options, {}, "") + "\n    " + status.to_string() + "\n";
    return true;
  };
  if (!device) return refuse(device.status());
  log.begin("instantiating " + item.kernel);
  const Result<Kernel> kernel = item.program->instantiate(item.kernel, item.dtypes, item.consts);
  if (!kernel) return refuse(kernel.status());
  RunHooks hooks;
  hooks.describe = [&](const CaseId& id, const std::string& config) {
    return repeat_command(item, options, id, config);
  };
  hooks.begin = [&](const std::string& what) { log.begin(what); };
  *report = run_kernel_cases(*kernel, item.cases, options, **device, hooks);
  return !(*device)->is_lost();
}

/// Whether the target can be used here, found out in a child so that no thread is started before the work is shared
/// out.
Status probe(const RunOptions& options) {
  Status status;
  const ItemWork work = [&](size_t, ItemLog&, std::string* result) {
    const auto device = open_device(options);
    if (!device) *result = device.status().message();
    return true;
  };
  run_isolated(1, {1, 60}, work, [&](size_t, const std::string& result, const std::string& death) {
    if (!result.empty() || !death.empty()) status = Status(Code::kNoDevice, result + death);
  });
  return status;
}

int run(const Arguments& arguments) {
  const auto start = std::chrono::steady_clock::now();
  if (const auto target = kaon::compiler::find_target(arguments.run.target); !target) {
    std::fprintf(stderr, "kernel_cases: --target: %s\n", target.status().message().c_str());
    return kExitUsage;
  }
  const Status usable = probe(arguments.run);
  if (!usable) {
    std::printf("[SKIP] %s: %s\n", arguments.run.target.c_str(), usable.message().c_str());
    return kExitSkipped;
  }
  CaseSources sources;
  for (const std::string& path : arguments.paths) sources.add(path, arguments.filter);
  RunReport total;
  for (const std::string& error : sources.errors()) std::printf("%s\n", error.c_str()), ++total.failures;
  const std::vector<CaseItem>& items = sources.items();
  if (items.empty() && total.failures == 0) {
    std::fprintf(stderr, "kernel_cases: no kernel is asked for\n");
    return kExitUsage;
  }
  std::fflush(stdout);
  const ItemWork work = [&](size_t i, ItemLog& log, std::string* result) {
    RunReport report;
    const bool goes_on = work_on(items[i], arguments.run, log, &report);
    *result = encode(report);
    return goes_on;
  };
  const ItemDone done = [&](size_t i, const std::string& result, const std::string& death) {
    RunReport report = decode(result);
    if (!death.empty())
      report.failures = 1, report.text = repeat_command(items[i], arguments.run, {}, "") + "\n    " + death + "\n";
    total.configs += report.configs, total.calls += report.calls, total.refused += report.refused;
    total.compared += report.compared, total.failures += report.failures;
    if (arguments.is_verbose) {
      std::printf("%s %s %s: %lld configs, %lld calls, %lld refused by guards, %lld undecided, %lld failures\n",
                  items[i].path.c_str(), items[i].kernel.c_str(), binding_text(items[i].dtypes).c_str(),
                  (long long)report.configs, (long long)report.calls, (long long)report.refused,
                  (long long)report.undecided, (long long)report.failures);
    }
    std::printf("%s", report.text.c_str());
    std::fflush(stdout);
  };
  run_isolated(items.size(), {arguments.jobs, arguments.run.compile_only ? 3600.0 : 300.0}, work, done);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  std::printf(
      "%zu kernels and bindings on %s, %lld configs, %lld calls, %lld elements compared, %lld failures in %.1f s\n",
      items.size(), arguments.run.target.c_str(), (long long)total.configs, (long long)total.calls,
      (long long)total.compared, (long long)total.failures, taken.count());
  return total.failures == 0 ? 0 : kExitFailures;
}

int main_of(int argc, char** argv) {
  Arguments arguments;
  CLI::App app(std::string(kHelp) + generators_help());
  app.formatter(std::make_shared<CLI::Formatter>());
  app.add_option("paths", arguments.paths, "folders, .cases, .tile or .md files")->required();
  app.add_option("--target", arguments.run.target, "host, or the sm_<NN> of this machine's GPU")->capture_default_str();
  app.add_option("--kernel", arguments.filter.kernel, "this kernel alone");
  app.add_option("--dtypes", arguments.filter.dtypes, "these types alone, 'T=f16 W=f32'");
  app.add_option("--const", arguments.filter.consts, "these constexpr parameters alone, 'W=4'");
  app.add_option("--shape", arguments.run.shape, "this shape, 'M=3 N=127', instead of those of the cases");
  app.add_option("--edge", arguments.run.edge, "this edge for every shape; `plain` for none");
  app.add_option("--data", arguments.run.data, "number of the alternative of the data");
  CLI::Option* config = app.add_option("--config", arguments.run.config, "this config alone, '' for the default");
  app.add_option("--seed", arguments.run.seed, "of data, edges, random configs and automatic shapes")
      ->capture_default_str();
  app.add_flag("--large", arguments.run.large, "also the shapes marked `large`");
  app.add_flag("--checked", arguments.run.checked, "programs stop at asserts and at indices out of range");
  app.add_flag("--compile-only", arguments.run.compile_only, "compiles every kernel with every config and runs none");
  app.add_option("--jobs,-j", arguments.jobs, "processes at a time; default one per processor");
  app.add_flag("--verbose,-v", arguments.is_verbose, "a line for each kernel and binding");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kExitUsage;
  }
  arguments.run.has_config = config->count() > 0;
  if (arguments.run.target == "host") arguments.run.max_warps = kHostMaxWarps;
  if (arguments.jobs <= 0) arguments.jobs = static_cast<int>(std::thread::hardware_concurrency());
  return run(arguments);
}

}  // namespace
}  // namespace kaon::compiler

int main(int argc, char** argv) { return kaon::compiler::main_of(argc, argv); }
