// Where compiled cases run: the checking machine, or a GPU through its driver.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "compiler/compile.h"
#include "tests/support/case_tensor.h"

namespace kaon::compiler {

/// An image that is loaded; destroyed before its device.
class LoadedVariant {
 public:
  virtual ~LoadedVariant() = default;
};

/// One call: `slots` with dimensions, strides and scalars; pointers are the device's business.
struct CaseCall {
  const LoadedVariant* variant = nullptr;
  const LaunchPlan* plan = nullptr;
  const Signature* signature = nullptr;
  std::vector<int64_t> slots;
  std::vector<CaseTensor*> tensors;  // in signature order; an output may be the tensor of an input
  uint64_t seed = 1;                 // of the order in which the checking machine runs threads
};

class CaseDevice {
 public:
  virtual ~CaseDevice() = default;
  virtual Result<std::unique_ptr<LoadedVariant>> load(const CompiledVariant& variant) = 0;
  /// Runs all steps of the plan on what the tensors hold and leaves the result in them, red zones included.
  virtual Status run(const CaseCall& call) = 0;
  /// True after a fault from which this process cannot recover.
  virtual bool is_lost() const { return false; }
};

/// Takes every image and runs none, for any target, on any machine. kUnsupported when a tool that makes images is
/// missing.
Result<std::unique_ptr<CaseDevice>> open_compile_only_device(const std::string& target);

/// The device for a target of the compiler: "host", or a GPU that runs its cubins. kUnsupported or kNoDevice otherwise.
Result<std::unique_ptr<CaseDevice>> open_case_device(const std::string& target);

/// The same for a GPU.
Result<std::unique_ptr<CaseDevice>> open_cuda_case_device(int sm);

}  // namespace kaon::compiler
