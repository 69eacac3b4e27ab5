// Whether a variant computes what the kernel means, and touches nothing else.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "aot_runner/measure/call.h"
#include "aot_runner/measure/device.h"
#include "aot_runner/measure/host_memory.h"
#include "aot_runner/measure/oracle_cache.h"
#include "aot_runner/measure/protocol.h"
#include "compiler/ir/ir.h"
#include "compiler/oracle/oracle.h"

namespace kaon::runner {

/// Checks any number of variants on one call. The oracle runs once, for the first of them; the first variant that
/// passes becomes the one whose whole output the others are compared with, where the oracle interpreted only a sample.
class Checker {
 public:
  /// All must outlive the checker; `call` must be made. `cache_key` names the kernel and everything that the inputs
  /// depend on.
  Checker(Device& device, const compiler::Kernel& kernel, Call& call, const MeasureOptions& options, OracleCache& cache,
          std::string cache_key)
      : device_(device),
        kernel_(kernel),
        call_(call),
        options_(options),
        cache_(cache),
        cache_key_(std::move(cache_key)) {}

  /// Runs `launch` on poisoned outputs and looks at everything around it. Inputs, red zones and (for in-place calls)
  /// the inputs' contents are restored where the variant damaged them. An error is one of the device or the oracle, not
  /// of the variant.
  Result<CheckOutcome> check(const Launch& launch);

  /// After a check: what is wrong with the variant that was trusted until then, if that came out; empty otherwise. The
  /// variant just checked is then the trusted one.
  std::string take_dethroned() { return std::exchange(dethroned_, {}); }

 private:
  /// Outputs on the host, there where the oracle knows them; zeros elsewhere.
  struct Sample {
    std::vector<compiler::HostTensor> tensors;
    std::vector<SparseMemory> memory;
  };

  Status prepare();
  Status run_oracle();
  Result<std::shared_ptr<const compiler::OracleResult>> interpret(int64_t most_whole, int64_t programs, uint64_t seed);
  const PlacedTensor* beginning(size_t tensor) const;
  Status run(const Launch& launch, uint8_t poison, CheckOutcome* outcome);
  Status check_zones(CheckOutcome* outcome);
  Status check_inputs(CheckOutcome* outcome);
  Status check_written(const Launch& launch, CheckOutcome* outcome);
  Result<bool> is_left_unwritten(const Launch& launch, size_t tensor, int64_t* index, CheckOutcome* outcome);
  Result<Sample> sample(bool of_trusted);
  std::string describe(const compiler::Judgement& judgement) const;
  Status check_oracle(CheckOutcome* outcome);
  Status check_trusted(CheckOutcome* outcome);
  Result<bool> settle(CheckOutcome* outcome);
  Status trust();
  std::string name(size_t tensor) const { return kernel_.signature.tensors[tensor].name; }
  std::string place(size_t tensor, int64_t offset) const;

  Device& device_;
  const compiler::Kernel& kernel_;
  Call& call_;
  const MeasureOptions& options_;
  OracleCache& cache_;
  const std::string cache_key_;
  bool is_prepared_ = false;
  bool has_trusted_ = false;
  std::string dethroned_;
  std::vector<uint64_t> input_hashes_;  // per tensor; 0 for outputs
  std::shared_ptr<const compiler::OracleResult> expected_;
  std::optional<Sample> right_;  // of the first variant that agreed with `expected_`
  double right_ratio_ = 0;       // its largest error as a share of what is allowed
};

}  // namespace kaon::runner
