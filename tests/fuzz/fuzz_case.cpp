// Runs what choices build.
#include "tests/fuzz/fuzz_case.h"

#include "compiler/compile.h"
#include "compiler/config/config_space.h"
#include "compiler/frontend/frontend.h"
#include "compiler/target/target.h"
#include "tests/support/case_run.h"

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
  cases.only_configs = {space.generic_config().to_text()};
  if (choices.below(3) != 0) cases.only_configs[0] = choose_config(space, choices, options.max_warps).to_text();
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
