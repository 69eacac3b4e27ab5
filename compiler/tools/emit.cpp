// One stage of the compiler for each value of --emit, and configs with their errors.
#include "compiler/tools/emit.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "compiler/compile.h"
#include "compiler/config/config_space.h"
#include "compiler/ir/choices.h"
#include "compiler/ir/printer.h"
#include "compiler/passes/insert_checks.h"
#include "compiler/passes/pipeline.h"
#include "compiler/support/near_miss.h"
#include "compiler/target/target.h"
#include "compiler/tools/resources_table.h"

namespace kaon::compiler {
namespace {

const char* const kStages[] = {"ast", "ir", "laid-out", "staged", "llvm", "ptx", "cubin", "resources"};

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& item : list) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::vector<std::string> knob_names(const ConfigSpace& space) {
  std::vector<std::string> names;
  for (const Knob& knob : space.knobs()) names.push_back(knob.name);
  return names;
}

std::vector<std::string> pass_names() {
  std::vector<std::string> names;
  for (const Pass& pass : all_passes()) names.emplace_back(pass.name);
  return names;
}

std::string knob_table(const ConfigSpace& space) {
  size_t width = 0;
  for (const Knob& knob : space.knobs()) width = std::max(width, knob.name.size());
  std::string out;
  for (const Knob& knob : space.knobs()) {
    const std::string indent(width + 2, ' ');
    out += knob.name + indent.substr(knob.name.size()) + knob.help + "\n";
    out += indent + "default " + knob.default_value + ", search " + joined(knob.choices) + "\n";
  }
  return out;
}

Outcome read_config(const std::vector<std::string>& pairs, const ConfigSpace& space, Config* out) {
  if (pairs.empty()) *out = space.default_config();
  for (const std::string& pair : pairs) {
    const Result<Config> one = Config::from_text(pair);
    if (!one) return Outcome::user_error("--config " + pair + ": " + one.status().message());
    for (const auto& [name, value] : one->values()) {
      if (space.find(name) == nullptr) {
        const std::vector<std::string> names = knob_names(space);
        return Outcome::user_error("unknown knob " + name + did_you_mean(name, names) +
                                   "; this kernel has: " + joined(names));
      }
      out->set(name, value);
    }
  }
  const std::string why = space.why_illegal(*out);
  if (why.empty()) return {};
  if (pairs.empty()) {
    return Outcome::user_error(
        "this kernel has no legal config; the least demanding one fails: " + why +
        "; make smaller what the source fixes: sizes in block=, constant extents, registered blocks");
  }
  std::string message = "illegal config: " + why;
  for (const auto& [name, value] : out->values()) {
    const std::vector<std::string>& choices = space.find(name)->choices;
    if (std::find(choices.begin(), choices.end(), value) != choices.end()) continue;
    message += "\n  " + name + " = " + value + " is not among the values of the search: " + joined(choices);
  }
  return Outcome::user_error(message);
}

PipelineOptions pipeline_options(const EmitOptions& options) {
  PipelineOptions pipeline;
  if (options.print_after.empty()) return pipeline;
  pipeline.observe = [&options](const char* pass, const Kernel& kernel) {
    if (options.print_after != "all" && options.print_after != pass) return;
    std::fprintf(stderr, "// after %s\n%s", pass, print(kernel).c_str());
  };
  return pipeline;
}

Outcome lower(const Kernel& kernel, const Config& config, const Target& target, const EmitOptions& options,
              const std::string& stop_after) {
  PipelineOptions pipeline = pipeline_options(options);
  pipeline.stop_after = stop_after;
  const Result<Kernel> lowered = run_pipeline(kernel, config, target, pipeline);
  return lowered ? Outcome::text(print(*lowered)) : Outcome::failed(lowered.status());
}

std::string last_pass_of(Stage stage) {
  std::string name;
  for (const Pass& pass : all_passes()) {
    if (pass.after == stage) name = pass.name;
  }
  return name;
}

Outcome one_pass(const Input& input, const Kernel& kernel, const Config& config, const Target& target,
                 const EmitOptions& options) {
  const std::vector<std::string> passes = pass_names();
  if (std::find(passes.begin(), passes.end(), options.run_pass) == passes.end()) {
    return Outcome::usage("no pass " + options.run_pass + did_you_mean(options.run_pass, passes) +
                          "; in order: " + joined(passes));
  }
  // From source, the passes before it come first; textual IR is taken as it is.
  if (!input.is_ir()) return lower(kernel, config, target, options, options.run_pass);
  Kernel changed = clone(kernel);
  for (const auto& [name, value] : config.values()) changed.config.set(name, value);
  const Status status = run_pass(options.run_pass, changed, target);
  return status ? Outcome::text(print(changed)) : Outcome::failed(status);
}

Outcome code(const Kernel& kernel, const Config& config, const Target& target, const EmitOptions& options) {
  CompileOptions compile_options;
  compile_options.keep_llvm = options.stage == "llvm";
  compile_options.checked = options.checked;
  Kernel checked;
  if (options.checked) {
    Result<std::string> text = read_text(options.path);
    if (!text) return Outcome::failed(text.status());
    const SourceFile source(options.path, std::move(text).value());
    checked = clone(kernel);
    if (const Status status = insert_checks(checked, &source); !status) return Outcome::failed(status);
  }
  const EmitUntil until = options.stage == "llvm"  ? EmitUntil::kLlvm
                          : options.stage == "ptx" ? EmitUntil::kPtx
                                                   : EmitUntil::kImage;
  if (options.stage == "ptx" && target.is_host) {
    return Outcome::usage("--emit=ptx needs a CUDA target; host has no PTX, its image is --emit=cubin");
  }
  if (!options.print_after.empty()) {
    const Outcome printed = lower(kernel, config, target, options, "");
    if (printed.exit_code != kExitOk) return printed;
  }
  const Result<CompiledVariant> variant =
      compile(options.checked ? checked : kernel, config, target, compile_options, until);
  if (!variant) return Outcome::failed(variant.status());
  if (options.stage == "llvm") return Outcome::text(variant->llvm_ir);
  return Outcome::text(options.stage == "ptx" ? variant->ptx : variant->image);
}

Outcome emit_kernel(const Input& input, const std::vector<BoundKernel>& kernels, const Target& target,
                    const EmitOptions& options) {
  const Kernel& kernel = kernels.front().kernel;
  if (kernel.stage != Stage::kLogical) {
    if (!options.run_pass.empty()) return one_pass(input, kernel, kernel.config, target, options);
    if (options.stage == "ir") return Outcome::text(print(kernel));
    return Outcome::usage("the input is already lowered; --emit=" + options.stage +
                          " starts from a .tile file or from IR at stage logical");
  }
  const ConfigSpace space(kernel, target);
  if (options.list_knobs) return Outcome::text(knob_table(space));
  Config config;
  const Outcome read = read_config(options.config, space, &config);
  if (read.exit_code != kExitOk) return read;
  if (!options.run_pass.empty()) return one_pass(input, kernel, config, target, options);
  if (options.stage == "ir") return Outcome::text(print(body_for(kernel, config)));
  if (options.stage == "laid-out") return lower(kernel, config, target, options, last_pass_of(Stage::kLaidOut));
  if (options.stage == "staged") return lower(kernel, config, target, options, "");
  if (options.stage == "resources") return resources_table(kernels, options.config.empty() ? nullptr : &config, target);
  return code(kernel, config, target, options);
}

}  // namespace

Outcome emit(const Input& input, const EmitOptions& options) {
  if (std::find(std::begin(kStages), std::end(kStages), options.stage) == std::end(kStages)) {
    const std::vector<std::string> stages(std::begin(kStages), std::end(kStages));
    return Outcome::usage("--emit=" + options.stage + ": expected one of " + joined(stages));
  }
  const std::vector<std::string> passes = pass_names();
  if (!options.print_after.empty() && options.print_after != "all" &&
      std::find(passes.begin(), passes.end(), options.print_after) == passes.end()) {
    return Outcome::usage("--print-after=" + options.print_after + ": expected all or one of " + joined(passes));
  }
  if (options.stage == "ast") {
    if (input.is_ir()) return Outcome::usage("--emit=ast needs a .tile file; textual IR has no syntax tree");
    return Outcome::text(input.program()->dump_ast());
  }
  const Result<Target> target = find_target(options.target);
  if (!target) return Outcome::usage(target.status().message());
  std::vector<BoundKernel> kernels;
  const Outcome outcome = input.kernel(&kernels, /*all_bindings=*/options.stage == "resources");
  if (outcome.exit_code != kExitOk) return outcome;
  return emit_kernel(input, kernels, *target, options);
}

}  // namespace kaon::compiler
