// Runs what choices build.
#include "tests/fuzz/fuzz_case.h"

#include <algorithm>
#include <limits>

#include "compiler/compile.h"
#include "compiler/config/config_space.h"
#include "compiler/frontend/frontend.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/pipeline.h"
#include "compiler/target/target.h"
#include "runtime/base/guards.h"
#include "tests/support/case_run.h"
#include "tests/support/case_shapes.h"

namespace kaon::compiler {
namespace {

/// A config by choices: 0 leaves each knob at its default. Empty where the choices lead to no legal one.
Config choose_config(const ConfigSpace& space, Choices& choices, int max_warps) {
  constexpr int kTries = 12;
  for (int i = 0; i < kTries; ++i) {
    Config config;
    for (const Knob& knob : space.knobs()) {
      const uint32_t choice = choices.below(2 * static_cast<uint32_t>(knob.choices.size()) + 1);
      if (choice > 0) config.set(knob.name, knob.choices[(choice - 1) % knob.choices.size()]);
      // Most extents are odd.
      if (knob.name.rfind("div.", 0) == 0 && choices.below(4) != 0) config.set(knob.name, 1);
      static constexpr const char* kVectors[] = {"1", "2", "4", "8"};
      if (knob.name == "vec" && choices.one_in(2)) config.set("vec", std::string(choices.pick(kVectors)));
    }
    config = space.normalize(config);
    if (max_warps > 0 && config.get_int("num_warps", 1) > max_warps) continue;
    if (space.why_illegal(config).empty()) return config;
  }
  return {};
}

constexpr int64_t kUseless = std::numeric_limits<int64_t>::max();

/// Values in registers of one thread that code is made for, which is what compiling costs; kUseless when the target or
/// the shapes rule the config out, 0 when something else is wrong.
int64_t weight_of(const Kernel& kernel, const Config& config, const Target& target,
                  const std::vector<CaseShape>& shapes) {
  const Result<Kernel> staged = run_pipeline(kernel, config, target);
  if (!staged) return staged.status().code() == Code::kIllegalConfig ? kUseless : 0;
  const bool is_refused = std::none_of(shapes.begin(), shapes.end(), [&](const CaseShape& shape) {
    const Result<std::vector<int64_t>> slots = shape_slots(kernel.signature, shape);
    return slots && first_refusing(kernel.signature, staged->guards, slots->data()) < 0;
  });
  if (is_refused) return kUseless;
  int64_t weight = 0;
  walk(staged->body, [&](const Op& op, const ConstOpPlace&) {
    for (const ValueId result : op.results) weight += staged->layout(result).num_registers();
  });
  return weight;
}

/// The generic config or a random one; of several the first that compiles fast, as most mistakes need no large tile.
Config choose_light_config(const Kernel& kernel, const ConfigSpace& space, const Target& target,
                           const std::vector<CaseShape>& shapes, int max_warps, Choices& choices) {
  constexpr int kTries = 4;
  constexpr int64_t kLight = 1500;
  Config lightest;
  int64_t least = kUseless;
  const bool takes_any = choices.one_in(24);
  for (int i = 0; i < kTries; ++i) {
    const bool is_generic = choices.below(3) == 0;
    const Config config = is_generic ? space.generic_config() : choose_config(space, choices, max_warps);
    const int64_t weight = weight_of(kernel, config, target, shapes);
    if (weight <= kLight || (takes_any && weight < kUseless)) return config;
    if (i == 0 || weight < least) lightest = config, least = weight;
  }
  return lightest;
}

FuzzVerdict verdict_of(const RunReport& report) {
  if (report.failures == 0) return report.calls > 0 ? FuzzVerdict::kRight : FuzzVerdict::kUnused;
  const bool is_internal = report.text.find("internal: ") != std::string::npos;
  if (report.text.find("illegal_config: ") != std::string::npos) return FuzzVerdict::kUnused;
  return is_internal ? FuzzVerdict::kInternal : FuzzVerdict::kWrong;
}

}  // namespace

const char* verdict_name(FuzzVerdict verdict) {
  static constexpr const char* kNames[] = {"right", "unused", "slow", "rejected", "wrong", "internal", "crashed"};
  return kNames[static_cast<size_t>(verdict)];
}

FuzzOutcome run_fuzz_case(Choices& choices, const FuzzOptions& options, CaseDevice* device, ItemLog& log) {
  FuzzOutcome outcome;
  const RandomProgram random = random_program(choices);
  outcome.text = random.text;
  log.begin("compiling\n" + random.text);
  SourceFile file("fuzz.tile", random.text);
  Diagnostics diagnostics(file);
  const std::unique_ptr<Program> program = Program::create(file, &diagnostics);
  if (program == nullptr) {
    outcome.verdict = FuzzVerdict::kRejected;
    outcome.report = diagnostics.render();
    return outcome;
  }
  const Result<Kernel> kernel = program->instantiate("fuzz", {});
  if (!kernel) {
    outcome.verdict = FuzzVerdict::kInternal;
    outcome.report = kernel.status().to_string();
    return outcome;
  }
  const Result<Target> target = find_target(options.target);
  const ConfigSpace space(*kernel, *target);
  KernelCases cases;
  cases.kernel = "fuzz";
  cases.data = random.data;
  cases.only_configs = {
      choose_light_config(*kernel, space, *target, random.shapes, options.max_warps, choices).to_text()};
  outcome.config = cases.only_configs[0];
  if (device == nullptr) {
    log.begin("compiling with config '" + outcome.config + "'\n" + random.text);
    const auto variant = compile(*kernel, *Config::from_text(outcome.config), *target, {});
    if (variant) return outcome;
    outcome.verdict = variant.status().code() == Code::kIllegalConfig ? FuzzVerdict::kUnused : FuzzVerdict::kInternal;
    outcome.report = variant.status().to_string();
    return outcome;
  }
  RunOptions run;
  run.target = options.target;
  run.edge = random.edge;
  RunHooks hooks;
  hooks.describe = [](const CaseId& id, const std::string& config) {
    return "--shape '" + shape_text(id.shape) + "' --edge " + id.edge + " --config '" + config + "'";
  };
  hooks.begin = [&](const std::string& what) { log.begin(what + "\n" + random.text); };
  for (const CaseShape& shape : random.shapes) cases.shapes.push_back(*parse_shape_line(shape_text(shape)));
  RunReport report = run_kernel_cases(*kernel, cases, run, *device, hooks);
  if (report.failures == 0 && report.calls == 0) {
    cases.only_configs = {space.generic_config().to_text()};
    report = run_kernel_cases(*kernel, cases, run, *device, hooks);
  }
  outcome.calls = report.calls;
  outcome.compared = report.compared;
  outcome.unconstrained = report.unconstrained;
  outcome.verdict = verdict_of(report);
  outcome.report = report.text;
  return outcome;
}

}  // namespace kaon::compiler
