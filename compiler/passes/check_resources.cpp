// Comparing a launch plan with a target.
#include "compiler/passes/check_resources.h"

#include <string>

namespace kaon::compiler {

Status check_resources(Kernel& kernel, const Target& target) {
  const LaunchPlan& plan = kernel.plan;
  if (plan.threads > target.max_threads) {
    return Status(Code::kIllegalConfig, "a block of " + std::to_string(plan.threads) + " threads, " + target.name +
                                            " has at most " + std::to_string(target.max_threads));
  }
  if (plan.shared_bytes > target.max_shared_bytes) {
    return Status(Code::kIllegalConfig, std::to_string(plan.shared_bytes) + " bytes of shared memory, " + target.name +
                                            " has at most " + std::to_string(target.max_shared_bytes) + " in a block");
  }
  return Status::ok();
}

}  // namespace kaon::compiler
