// Whether a device's outputs lie within the oracle's bounds.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/oracle.h"
#include "compiler/oracle/soft_float.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {
namespace {

constexpr size_t kMaxExamples = 8;

/// How far `got` is from expected, as a share of what is allowed: at most 1 passes.
double share_of(double distance, double allowed) {
  if (distance <= 0) return 0;
  return allowed > 0 ? distance / allowed : HUGE_VAL;
}

double judge_float(const OracleElement& expected, double got) {
  if (expected.bound == kUnknown) return 0;
  if (std::isnan(expected.value) || std::isnan(got))
    return std::isnan(expected.value) && std::isnan(got) ? 0 : HUGE_VAL;
  const double low = expected.low, high = expected.high;
  if (low <= got && got <= high) {
    // A type that clamps has its largest number where the exact value is infinite.
    if (got == expected.value || std::isinf(got) || std::isinf(expected.value)) return 0;
    return got > expected.value ? (got - expected.value) / (high - expected.value)
                                : (expected.value - got) / (expected.value - low);
  }
  if (std::isinf(expected.value) || std::isinf(got)) return HUGE_VAL;
  return got > high ? share_of(got - expected.value, high - expected.value)
                    : share_of(expected.value - got, expected.value - low);
}

double judge_integer(DType dtype, const OracleElement& expected, int64_t got) {
  if (expected.bound == kUnknown || got == expected.integer) return 0;
  if (dtype == DType::kBool) return expected.bound != 0 ? 0 : HUGE_VAL;
  const int64_t low = float_to_int(dtype, expected.value - expected.bound);
  const int64_t high = float_to_int(dtype, expected.value + expected.bound);
  if (expected.bound != 0 && low <= got && got <= high) return 1;
  const double distance = std::fabs(static_cast<double>(got) - static_cast<double>(expected.integer));
  return std::max(share_of(distance, expected.bound), 2.0);
}

uint64_t read_bits(const HostTensor& tensor, int64_t offset) {
  // Elements may lie at addresses that their type would not be read from.
  const auto read = [&]<typename T>(T value) -> uint64_t {
    std::memcpy(&value, static_cast<const char*>(tensor.data) + offset * static_cast<int64_t>(sizeof value),
                sizeof value);
    return value;
  };
  switch (dtype_bytes(tensor.dtype)) {
    case 1: return read(uint8_t{});
    case 2: return read(uint16_t{});
    case 4: return read(uint32_t{});
    default: return read(uint64_t{});
  }
}

}  // namespace

Judgement judge(const Kernel&, const OracleResult& expected, const std::vector<HostTensor>& tensors,
                const std::vector<HostTensor>* right) {
  Judgement judgement;
  for (size_t t = 0; t < expected.outputs.size() && t < tensors.size(); ++t) {
    const HostTensor& tensor = tensors[t];
    const bool is_float = dtype_is_float(tensor.dtype);
    const double* table = decode_table(tensor.dtype);
    for (const OracleElement& element : expected.outputs[t]) {
      const uint64_t bits = read_bits(tensor, element.offset);
      ++judgement.compared;
      if (element.bound == kUnknown) ++judgement.unconstrained;
      if (right != nullptr && read_bits((*right)[t], element.offset) == bits) continue;
      const int64_t integer = is_float ? 0 : wrap_int(tensor.dtype, static_cast<int64_t>(bits));
      const double got = table != nullptr ? table[bits]
                         : is_float       ? decode_float(tensor.dtype, bits)
                                          : static_cast<double>(integer);
      const double ratio = is_float ? judge_float(element, got) : judge_integer(tensor.dtype, element, integer);
      judgement.worst_ratio = std::max(judgement.worst_ratio, ratio);
      if (ratio <= 1) continue;
      ++judgement.wrong;
      if (judgement.examples.size() < kMaxExamples) {
        judgement.examples.push_back(Mismatch{static_cast<int>(t), element.offset, element.value, got, element.bound});
      }
    }
  }
  return judgement;
}

std::string Judgement::to_string() const {
  char text[192];
  std::snprintf(text, sizeof(text), "%lld of %lld elements wrong, worst at %.3g of the allowed error",
                static_cast<long long>(wrong), static_cast<long long>(compared), worst_ratio);
  std::string result = text;
  if (unconstrained > 0) result += ", " + std::to_string(unconstrained) + " undecided by rounding";
  for (const Mismatch& mismatch : examples) {
    std::snprintf(text, sizeof(text), "\n  tensor %d offset %lld: expected %.9g +- %.3g, got %.9g", mismatch.tensor,
                  static_cast<long long>(mismatch.offset), mismatch.expected, mismatch.bound, mismatch.got);
    result += text;
  }
  return result;
}

}  // namespace kaon::compiler
