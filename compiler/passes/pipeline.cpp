// The list of passes, and how one or all are run.
#include "compiler/passes/pipeline.h"

#include "compiler/config/config_space.h"
#include "compiler/ir/choices.h"
#include "compiler/ir/verifier.h"
#include "compiler/passes/assign_shared.h"
#include "compiler/passes/check_resources.h"
#include "compiler/passes/choose_layouts.h"
#include "compiler/passes/insert_conversions.h"
#include "compiler/passes/keep_inputs.h"
#include "compiler/passes/map_grid.h"
#include "compiler/passes/place_barriers.h"
#include "compiler/passes/plan_access.h"
#include "compiler/passes/roll_reductions.h"
#include "compiler/passes/schedule_loops.h"
#include "compiler/passes/specialise.h"
#include "compiler/passes/stage_reductions.h"
#include "compiler/passes/version_rows.h"

namespace kaon::compiler {

const std::vector<Pass>& all_passes() {
  static const std::vector<Pass> passes = {
      {"specialise", Stage::kLogical, Stage::kLogical, specialise},
      {"map_grid", Stage::kLogical, Stage::kLogical, map_grid},
      {"version_rows", Stage::kLogical, Stage::kLogical, version_rows},
      {"choose_layouts", Stage::kLogical, Stage::kLaidOut, choose_layouts},
      {"insert_conversions", Stage::kLaidOut, Stage::kLaidOut, insert_conversions},
      {"roll_reductions", Stage::kLaidOut, Stage::kLaidOut, roll_reductions},
      {"keep_inputs", Stage::kLaidOut, Stage::kLaidOut, keep_inputs},
      {"plan_access", Stage::kLaidOut, Stage::kLaidOut, plan_access},
      {"stage_reductions", Stage::kLaidOut, Stage::kStaged, stage_reductions},
      {"schedule_loops", Stage::kStaged, Stage::kStaged, schedule_loops},
      {"place_barriers", Stage::kStaged, Stage::kStaged, place_barriers},
      {"assign_shared", Stage::kStaged, Stage::kStaged, assign_shared},
      {"check_resources", Stage::kStaged, Stage::kStaged, check_resources},
  };
  return passes;
}

namespace {

Status run_one(const Pass& pass, Kernel& kernel, const Target& target, bool check) {
  if (kernel.stage != pass.before) {
    return Status(Code::kInvalidArgument,
                  std::string(pass.name) + ": the kernel is at another stage than the pass needs");
  }
  KAON_RETURN_IF_ERROR(pass.run(kernel, target));
  if (kernel.stage != pass.after)
    return Status(Code::kInternal, std::string(pass.name) + ": left the wrong stage behind");
  if (!check) return Status::ok();
  const Status verified = verify(kernel);
  if (verified) return Status::ok();
  return Status(verified.code(), "after " + std::string(pass.name) + ": " + verified.message());
}

}  // namespace

Result<Kernel> run_pipeline(const Kernel& logical, const Config& config, const Target& target,
                            const PipelineOptions& options) {
  const ConfigSpace space(logical, target);
  const std::string why = space.why_illegal(config);
  if (!why.empty()) return Status(Code::kIllegalConfig, why);
  Kernel kernel = clone(body_for(logical, config));
  kernel.choices = nullptr;
  kernel.config = space.normalize(config);
  // Layouts of operands and results may differ between these two passes, which the verifier would not accept.
  for (const Pass& pass : all_passes()) {
    const bool mends_layouts = std::string(pass.name) == "choose_layouts";
    KAON_RETURN_IF_ERROR(run_one(pass, kernel, target, !mends_layouts));
    if (options.observe) options.observe(pass.name, kernel);
    if (options.stop_after == pass.name) break;
  }
  return kernel;
}

Status run_pass(const std::string& name, Kernel& kernel, const Target& target) {
  std::string names;
  for (const Pass& pass : all_passes()) {
    if (name == pass.name) return run_one(pass, kernel, target, true);
    names += (names.empty() ? "" : ", ") + std::string(pass.name);
  }
  return Status(Code::kNotFound, "no pass " + name + "; there are " + names);
}

}  // namespace kaon::compiler
