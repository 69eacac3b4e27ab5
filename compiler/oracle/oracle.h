// The oracle: logical IR interpreted in float64 with a running error bound per element, and the judgement of a result.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// Whoever holds a tensor that is not in host memory yet, asked for parts of it as they are needed.
class TensorSource {
 public:
  virtual ~TensorSource() = default;
  /// The elements at `offsets` are about to be read; negative offsets stand for none. May leave out elements, which are
  /// then read as they lie in memory, and should keep a status for whoever called the interpreter.
  virtual void need(const std::vector<int64_t>& offsets, size_t count) = 0;
};

/// A tensor in host memory. `data` points at the element of index 0 on every axis; strides are in elements.
struct HostTensor {
  DType dtype = DType::kF32;
  void* data = nullptr;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  TensorSource* source = nullptr;  // null: everything is there. Else strides are not negative
};

/// One element that the sampled programs wrote.
struct OracleElement {
  int64_t offset = 0;  // in elements from HostTensor::data
  double value = 0;    // before the last rounding to the tensor's type
  double bound = 0;  // |result - value| <= bound must hold for the result before its last rounding; infinity: anything
  int64_t integer = 0;  // integer and bool tensors: the value itself, which a double may not hold
  double low = 0;       // float tensors: every number of the tensor's type from here
  double high = 0;      // to here is right
};

struct OracleOptions {
  int64_t max_programs = 0;  // 0: all; else a seeded sample, always with the first and the last
  uint64_t seed = 1;
};

/// What the interpreted programs wrote to each output, in signature.tensors order (empty for inputs); sorted by offset.
struct OracleResult {
  std::vector<std::vector<OracleElement>> outputs;
  int64_t programs_run = 0;
  int64_t programs_total = 0;
};

/// Interprets `logical` on `tensors` (in signature order; outputs are read
/// for their shape, and for what atomics find there unless the output is zeroed; kernels with atomics are never
/// sampled) and `scalars` (bits as in slots). kInvalidArgument when extents do not fit the signature.
Result<OracleResult> interpret(const Kernel& logical, const std::vector<HostTensor>& tensors,
                               const std::vector<int64_t>& scalars, const OracleOptions& options);

struct Mismatch {
  int tensor = 0;
  int64_t offset = 0;
  double expected = 0, got = 0, bound = 0;
};

struct Judgement {
  int64_t compared = 0;
  int64_t wrong = 0;
  int64_t unconstrained = 0;       // of compared: rounding decides an overflow or a branch, so anything passes
  double worst_ratio = 0;          // max of |got - expected| / allowed
  std::vector<Mismatch> examples;  // at most 8
  bool passed() const { return wrong == 0; }
  std::string to_string() const;
};

/// Compares outputs with the oracle: a value passes if it equals some rounding to the tensor's dtype of a value within
/// the bound. NaN matches NaN, infinities match by sign; overflow to infinity passes where the bound reaches it.
/// `right`, if given, holds outputs that passed before: elements with the same bits pass unseen, and leave worst_ratio be.
Judgement judge(const Kernel& logical, const OracleResult& expected, const std::vector<HostTensor>& tensors,
                const std::vector<HostTensor>* right = nullptr);

}  // namespace kaon::compiler
