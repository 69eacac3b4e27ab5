// One call of a kernel with its data, and what the oracle expects of it.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/oracle/oracle.h"
#include "tests/support/case_run.h"
#include "tests/support/case_tensor.h"

namespace kaon::compiler {

/// Tensors of one case, in fresh memory for each run.
class CaseInputs {
 public:
  /// Lays out and fills the tensors. kInvalidArgument when shape or data do not fit the kernel.
  static Result<std::unique_ptr<CaseInputs>> make(const Kernel& kernel, const KernelCases& cases, const CaseId& id,
                                                  uint64_t seed);

  /// Slots of a call on `tensors`.
  std::vector<int64_t> slots(const std::vector<CaseTensor>& tensors) const;
  /// Copies to run on; an output that is in place has the tensor of its input, see place().
  std::vector<CaseTensor> fresh() const { return tensors_; }
  /// The index in fresh() of argument `i`.
  size_t place(size_t i) const { return places_[i]; }
  int64_t elements() const;

  /// The oracle's answer for the tile sizes of `config`, on which the meaning of a kernel may depend; remembered.
  Result<const OracleResult*> expected(const Config& config, int64_t whole_limit);

  /// Empty when `tensors`, after a run, hold what is expected and nothing else has changed.
  std::string why_wrong(const OracleResult& expected, const std::vector<CaseTensor>& tensors, int64_t* compared,
                        int64_t* unconstrained) const;

 private:
  explicit CaseInputs(const Kernel& kernel) : kernel_(kernel) {}
  std::vector<HostTensor> views(const std::vector<CaseTensor>& tensors) const;
  std::string mismatch_text(const Mismatch& mismatch, const std::vector<CaseTensor>& tensors) const;
  std::string why_changed(size_t tensor, const OracleResult& expected, const CaseTensor& got) const;

  const Kernel& kernel_;
  std::vector<int64_t> base_slots_;
  std::vector<CaseTensor> tensors_;  // as they are before a run
  std::vector<size_t> places_;
  std::map<std::string, OracleResult> expected_;
};

}  // namespace kaon::compiler
