// Host tensors and the run of a textual kernel on them, for the oracle's tests.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "compiler/ir/parser.h"
#include "compiler/oracle/oracle.h"
#include "compiler/oracle/soft_float.h"

namespace kaon::compiler {

/// A row-major tensor that owns its bytes.
class OwnedTensor {
 public:
  OwnedTensor(DType dtype, std::vector<int64_t> sizes) {
    view_.dtype = dtype;
    view_.sizes = std::move(sizes);
    view_.strides.assign(view_.sizes.size(), 1);
    for (size_t i = view_.sizes.size(); i-- > 1;) view_.strides[i - 1] = view_.strides[i] * view_.sizes[i];
    count_ = 1;
    for (int64_t size : view_.sizes) count_ *= size;
    bytes_.resize(static_cast<size_t>(count_ * dtype_bytes(dtype)) + 16);
    view_.data = bytes_.data();
  }
  OwnedTensor(OwnedTensor&&) = default;

  int64_t count() const { return count_; }
  const HostTensor& view() const { return view_; }
  void set_bits(int64_t i, uint64_t bits) {
    const int size = dtype_bytes(view_.dtype);
    std::memcpy(bytes_.data() + i * size, &bits, static_cast<size_t>(size));
  }
  void set(int64_t i, double value) {
    set_bits(i, dtype_is_float(view_.dtype) ? encode_float(view_.dtype, value)
                                            : static_cast<uint64_t>(static_cast<int64_t>(value)));
  }
  double get(int64_t i) const {
    uint64_t bits = 0;
    const int size = dtype_bytes(view_.dtype);
    std::memcpy(&bits, bytes_.data() + i * size, static_cast<size_t>(size));
    return decode_float(view_.dtype, bits);
  }
  /// Normal numbers, seeded.
  void fill(uint64_t seed, double scale = 1) {
    std::mt19937_64 random(seed);
    std::normal_distribution<double> normal(0, scale);
    for (int64_t i = 0; i < count_; ++i) set(i, normal(random));
  }

 private:
  HostTensor view_;
  int64_t count_ = 0;
  std::vector<uint8_t> bytes_;
};

inline std::vector<HostTensor> views(const std::vector<const OwnedTensor*>& tensors) {
  std::vector<HostTensor> result;
  for (const OwnedTensor* tensor : tensors) result.push_back(tensor->view());
  return result;
}

inline std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
  return text;
}

/// The result of a call that must succeed.
inline OracleResult run_oracle(const Kernel& kernel, const std::vector<HostTensor>& tensors,
                               const std::vector<int64_t>& scalars = {}, const OracleOptions& options = {}) {
  Result<OracleResult> result = interpret(kernel, tensors, scalars, options);
  EXPECT_TRUE(result) << result.status().message();
  return result ? std::move(result).value() : OracleResult{};
}

inline Kernel parse_or_fail(const std::string& text) {
  Result<Kernel> kernel = parse_kernel(text);
  EXPECT_TRUE(kernel) << kernel.status().message();
  return kernel ? std::move(kernel).value() : Kernel{};
}

}  // namespace kaon::compiler
