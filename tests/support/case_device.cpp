// The checking machine as a device for cases.
#include "tests/support/case_device.h"

#include "compiler/target/target.h"
#include "runtime/host/image.h"
#include "runtime/host/machine.h"

namespace kaon::compiler {
namespace {

struct HostVariant final : LoadedVariant {
  std::unique_ptr<host::Image> image;
  host::KernelFunction function = nullptr;
};

class HostCaseDevice final : public CaseDevice {
 public:
  Result<std::unique_ptr<LoadedVariant>> load(const CompiledVariant& variant) override {
    auto loaded = std::make_unique<HostVariant>();
    KAON_ASSIGN_OR_RETURN(loaded->image, host::Image::load(variant.image));
    KAON_ASSIGN_OR_RETURN(loaded->function, loaded->image->find(variant.info.symbol));
    return std::unique_ptr<LoadedVariant>(std::move(loaded));
  }

  Status run(const CaseCall& call) override {
    std::vector<int64_t> slots = call.slots;
    for (size_t i = 0; i < call.tensors.size(); ++i) slots[i] = reinterpret_cast<int64_t>(call.tensors[i]->element(0));
    for (const LaunchStep& step : call.plan->steps) {
      if (step.kind == StepKind::kZero) {
        call.tensors[step.tensor]->zero_elements();
        continue;
      }
      const auto programs = static_cast<uint64_t>(call.plan->programs.evaluate(slots.data()));
      KAON_RETURN_IF_ERROR(machine_.run(static_cast<const HostVariant*>(call.variant)->function,
                                        {programs, call.plan->threads, call.plan->shared_bytes}, slots.data(),
                                        {/*checked=*/true, call.seed}));
    }
    return Status::ok();
  }

 private:
  host::Machine machine_{1};  // cases run side by side in processes
};

class CompileOnlyDevice final : public CaseDevice {
 public:
  Result<std::unique_ptr<LoadedVariant>> load(const CompiledVariant&) override {
    return std::make_unique<LoadedVariant>();
  }
  Status run(const CaseCall&) override { return Status(Code::kUnsupported, "this device runs nothing"); }
};

}  // namespace

Result<std::unique_ptr<CaseDevice>> open_compile_only_device(const std::string& name) {
  KAON_ASSIGN_OR_RETURN(const Target target, find_target(name));
  if (!target.is_host) KAON_RETURN_IF_ERROR(find_ptxas().status());
  return std::unique_ptr<CaseDevice>(std::make_unique<CompileOnlyDevice>());
}

Result<std::unique_ptr<CaseDevice>> open_case_device(const std::string& name) {
  KAON_ASSIGN_OR_RETURN(const Target target, find_target(name));
  if (target.is_host) return std::unique_ptr<CaseDevice>(std::make_unique<HostCaseDevice>());
  return open_cuda_case_device(target.sm);
}

}  // namespace kaon::compiler
