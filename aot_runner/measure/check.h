// Whether a variant computes what the kernel means, and touches nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "aot_runner/measure/call.h"
#include "aot_runner/measure/device.h"
#include "aot_runner/measure/protocol.h"
#include "compiler/ir/ir.h"
#include "compiler/oracle/oracle.h"

namespace kaon::runner {

/// Checks any number of variants on one call. The oracle runs once, for the first of them; the first variant that
/// passes becomes the one whose whole output the others are compared with, where the oracle interpreted only a sample.
class Checker {
 public:
  /// All must outlive the checker; `call` must be made.
  Checker(Device& device, const compiler::Kernel& kernel, Call& call, const MeasureOptions& options)
      : device_(device), kernel_(kernel), call_(call), options_(options) {}

  /// Runs `launch` on poisoned outputs and looks at everything around it. Inputs, red zones and (for in-place calls)
  /// the inputs' contents are restored where the variant damaged them. An error is one of the device or the oracle, not
  /// of the variant.
  Result<CheckOutcome> check(const Launch& launch);

 private:
  Status prepare();
  Status run_oracle();
  Status run(const Launch& launch, uint8_t poison, CheckOutcome* outcome);
  Status check_zones(CheckOutcome* outcome);
  Status check_inputs(CheckOutcome* outcome);
  Status check_written(const Launch& launch, CheckOutcome* outcome);
  Result<bool> is_left_unwritten(const Launch& launch, size_t tensor, int64_t* index, CheckOutcome* outcome);
  Status check_oracle(CheckOutcome* outcome);
  Status check_trusted(CheckOutcome* outcome);
  std::string name(size_t tensor) const { return kernel_.signature.tensors[tensor].name; }
  std::string place(size_t tensor, int64_t offset) const;

  Device& device_;
  const compiler::Kernel& kernel_;
  Call& call_;
  const MeasureOptions& options_;
  bool is_prepared_ = false;
  bool has_trusted_ = false;
  std::vector<uint64_t> input_hashes_;  // per tensor; 0 for outputs
  compiler::OracleResult expected_;
};

}  // namespace kaon::runner
