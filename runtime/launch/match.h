// How a call was served: by which variant of which table, and how well that table knew the call's shape.
#pragma once

#include <cstdint>

namespace kaon {

enum class Match : uint8_t {
  kTuned,         // this very shape was measured on this hardware
  kInterpolated,  // inside the range of the measured shapes
  kOutOfRange,    // a dim lies outside the range of the measured shapes
  kOlderTable,    // tuned for older hardware; no table for this one
  kGeneric,       // the variant that accepts everything: no tuned one fits the call, or no table fits the device
  kForced,        // KAON_FORCE_VARIANT, force_variant() or call_variant()
};

constexpr int kNumMatches = 6;

/// "tuned", "interpolated", "out_of_range", "older_table", "generic", "forced".
const char* match_name(Match match);

/// How many calls of a kernel were served in each way.
struct CallCounts {
  uint64_t by_match[kNumMatches] = {};

  uint64_t operator[](Match match) const { return by_match[static_cast<int>(match)]; }
  uint64_t total() const {
    uint64_t sum = 0;
    for (uint64_t count : by_match) sum += count;
    return sum;
  }
};

/// One variant as it is ready to run on one device. Lives as long as the program, or until reclaim() releases its pack.
struct VariantFacts {
  const char* kernel = "";     // "softmax"
  const char* dtype_key = "";  // "f16"
  const char* hardware = "";   // of the table: "sm90"
  const char* symbol = "";
  const char* config = "";        // Config::to_text()
  const char* image_target = "";  // of the image that runs: "sm_90"
  const char* image_trust = "";   // "measured here" or "cross-compiled, not run"
  uint64_t fingerprint = 0;       // of the config
  int index = 0;                  // in its table
};

struct CallInfo {
  Match match = Match::kGeneric;
  const VariantFacts* variant = nullptr;  // null until a call was served
  int leaf = -1;                          // of the table's tree; -1 when forced
  int64_t programs = 0;                   // size of the grid; 0 when there was nothing to do
};

}  // namespace kaon
