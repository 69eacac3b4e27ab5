// The words and version of the committed JSON texts, shared by their writer and their reader.
#pragma once

#include <cstdint>
#include <string>

namespace kaon::heuristics {

constexpr char kMeasurementsFormat[] = "kaon measurements";
constexpr char kTrainingFormat[] = "kaon training";
constexpr int32_t kFormatVersion = 1;

// Indexed by ExprOp; the first two never appear as words.
constexpr const char* kExprOpNames[] = {"const",     "slot",     "add", "sub", "mul",
                                        "floor_div", "ceil_div", "mod", "min", "max"};
// Indexed by GuardKind.
constexpr const char* kGuardNames[] = {"divisible", "equal", "at_most", "at_least", "congruent", "span_at_most"};

/// 16 hexadecimal digits.
inline std::string hash_text(uint64_t hash) {
  constexpr char kHex[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4) text[i] = kHex[hash & 15];
  return text;
}

}  // namespace kaon::heuristics
