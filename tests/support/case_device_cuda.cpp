// A GPU as a device for cases: tensors travel there and back whole, with their red zones.
#include <utility>

#include "runtime/driver/device.h"
#include "runtime/driver/driver.h"
#include "runtime/driver/handles.h"
#include "tests/support/case_device.h"

namespace kaon::compiler {
namespace {

struct CudaVariant final : LoadedVariant {
  std::string image;  // the driver may load code from it later
  cuda::Library library;
  cuda::CuFunction function = nullptr;
};

class CudaCaseDevice final : public CaseDevice {
 public:
  CudaCaseDevice(const cuda::Driver& driver, cuda::PrimaryContext context)
      : driver_(driver), context_(std::move(context)) {}

  Status start() {
    KAON_CUDA_RETURN_IF_ERROR(driver_, ctx_set_current, context_.get());
    return Status::ok();
  }

  bool is_lost() const override { return is_lost_; }

  Result<std::unique_ptr<LoadedVariant>> load(const CompiledVariant& variant) override {
    auto loaded = std::make_unique<CudaVariant>();
    loaded->image = variant.image;
    KAON_ASSIGN_OR_RETURN(loaded->library, cuda::load_library(driver_, loaded->image.c_str()));
    KAON_ASSIGN_OR_RETURN(loaded->function,
                          cuda::load_function(driver_, loaded->library.get(), variant.info.symbol.c_str(),
                                              variant.info.plan.shared_bytes));
    return std::unique_ptr<LoadedVariant>(std::move(loaded));
  }

  Status run(const CaseCall& call) override {
    const Status status = try_run(call);
    if (!status && driver_.ctx_synchronize() != cuda::kCudaSuccess) is_lost_ = true;
    return status;
  }

 private:
  Status try_run(const CaseCall& call) {
    std::vector<cuda::DeviceMemory> memory(call.tensors.size());
    std::vector<int64_t> slots = call.slots;
    for (const LaunchStep& step : call.plan->steps) {
      if (step.kind == StepKind::kZero) call.tensors[step.tensor]->zero_elements();
    }
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const CaseTensor& tensor = *call.tensors[i];
      const size_t first = first_place(call, i);
      if (first == i) {
        KAON_ASSIGN_OR_RETURN(memory[i], cuda::allocate_device(driver_, tensor.bytes().size()));
        KAON_CUDA_RETURN_IF_ERROR(driver_, memcpy_htod_async, memory[i].get(), tensor.bytes().data(),
                                  tensor.bytes().size(), nullptr);
      }
      slots[i] = static_cast<int64_t>(memory[first].get()) + tensor.origin();
    }
    KAON_RETURN_IF_ERROR(launch(call, slots));
    for (size_t i = 0; i < call.tensors.size(); ++i) {
      const AlignedBytes& bytes = call.tensors[i]->bytes();
      if (!memory[i]) continue;
      KAON_CUDA_RETURN_IF_ERROR(driver_, memcpy_dtoh_async, bytes.data(), memory[i].get(), bytes.size(), nullptr);
    }
    KAON_CUDA_RETURN_IF_ERROR(driver_, stream_synchronize, nullptr);
    return Status::ok();
  }

  /// The first argument that is the same tensor as argument `i`.
  static size_t first_place(const CaseCall& call, size_t i) {
    size_t first = 0;
    while (call.tensors[first] != call.tensors[i]) ++first;
    return first;
  }

  Status launch(const CaseCall& call, std::vector<int64_t>& slots) {
    const auto programs = static_cast<unsigned>(call.plan->programs.evaluate(slots.data()));
    if (programs == 0) return Status::ok();
    size_t bytes = slots.size() * sizeof(int64_t);
    void* extra[] = {cuda::launch_param_buffer_pointer(), slots.data(), cuda::launch_param_buffer_size(), &bytes,
                     cuda::launch_param_end()};
    const auto& variant = static_cast<const CudaVariant&>(*call.variant);
    if (call.plan->cluster == 1) {
      KAON_CUDA_RETURN_IF_ERROR(driver_, launch_kernel, variant.function, programs, 1, 1, call.plan->threads, 1, 1,
                                call.plan->shared_bytes, nullptr, nullptr, extra);
    } else {
      if (driver_.launch_kernel_ex == nullptr) return Status(Code::kUnsupported, "this driver knows no clusters");
      cuda::CuLaunchAttribute attribute = {};
      attribute.id = cuda::kLaunchClusterDimension;
      attribute.value.cluster = {call.plan->cluster, 1, 1};
      const cuda::CuLaunchConfig config = {programs, 1,          1, call.plan->threads, 1, 1, call.plan->shared_bytes,
                                           nullptr,  &attribute, 1};
      KAON_CUDA_RETURN_IF_ERROR(driver_, launch_kernel_ex, &config, variant.function, nullptr, extra);
    }
    KAON_CUDA_RETURN_IF_ERROR(driver_, stream_synchronize, nullptr);
    return Status::ok();
  }

  const cuda::Driver& driver_;
  cuda::PrimaryContext context_;
  bool is_lost_ = false;
};

}  // namespace

Result<std::unique_ptr<CaseDevice>> open_cuda_case_device(int sm) {
  KAON_ASSIGN_OR_RETURN(const cuda::Driver* driver, cuda::driver());
  KAON_ASSIGN_OR_RETURN(const cuda::DeviceInfo info, cuda::device_info(*driver, 0));
  if (info.sm != sm) {
    return Status(Code::kNoDevice, info.name + " is an sm_" + std::to_string(info.sm) + ", expected an sm_" +
                                       std::to_string(sm) + "; choose the target of this machine");
  }
  KAON_ASSIGN_OR_RETURN(cuda::PrimaryContext context, cuda::PrimaryContext::retain(*driver, info.device));
  auto device = std::make_unique<CudaCaseDevice>(*driver, std::move(context));
  KAON_RETURN_IF_ERROR(device->start());
  return std::unique_ptr<CaseDevice>(std::move(device));
}

}  // namespace kaon::compiler
