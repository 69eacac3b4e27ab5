// The rules that a variant of a request must keep.
#include "aot_runner/measure/variant_rules.h"

#include <algorithm>
#include <string>

namespace kaon::runner {

Status validate(const Signature& signature, const VariantInfo& info) {
  const auto refuse = [&](const std::string& what) {
    return Status(Code::kInvalidArgument, "variant " + info.symbol + " of " + signature.kernel + ": " + what);
  };
  for (const Guard& guard : info.guards) {
    const int limit = guard.kind == GuardKind::kSpanAtMost ? signature.num_tensors() : signature.num_slots();
    if (guard.slot >= limit || guard.other >= signature.num_slots()) {
      return refuse("a guard reads slot " + std::to_string(std::max(guard.slot, guard.other)) + " of " +
                    std::to_string(limit));
    }
    const bool divides = guard.kind == GuardKind::kDivisible || guard.kind == GuardKind::kCongruent;
    if (divides && guard.value < 1) return refuse("a guard divides by " + std::to_string(guard.value));
  }
  int kernels = 0;
  for (const LaunchStep& step : info.plan.steps) {
    kernels += step.kind == StepKind::kKernel;
    if (step.kind == StepKind::kZero && step.tensor >= signature.num_tensors()) {
      return refuse("a step clears tensor " + std::to_string(step.tensor) + " of " +
                    std::to_string(signature.num_tensors()));
    }
  }
  if (kernels != 1) return refuse("its plan has " + std::to_string(kernels) + " kernel steps, expected 1");
  if (info.plan.threads == 0 || info.plan.threads % 32 != 0 || info.plan.threads > 1024) {
    return refuse(std::to_string(info.plan.threads) + " threads a block, expected a multiple of 32 up to 1024");
  }
  if (info.plan.cluster < 1) return refuse("a cluster of 0 blocks");
  return kaon::validate(info.plan.programs.view(), signature.num_slots());
}

}  // namespace kaon::runner
