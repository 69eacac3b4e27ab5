// How well the measurements of a table cover a shape.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/launch/match.h"
#include "runtime/launch/pack_format.h"

namespace kaon {

/// The measured shapes of one table and their ranges, made ready to be asked on every call.
class Coverage {
 public:
  explicit Coverage(const PackTable& table);

  /// kTuned, kInterpolated or kOutOfRange for the dims of a call, in the order of the signature.
  Match match(const int64_t* dims) const {
    uint64_t hash = kSeed;
    bool is_inside = true;
    for (const Dim& dim : dims_) {
      const int64_t value = *dims++;
      is_inside &= value >= dim.min && value <= dim.max;
      hash = mix(hash, value & dim.mask);
    }
    if (!is_inside) return Match::kOutOfRange;
    return contains(hash == 0 ? 1 : hash) ? Match::kTuned : Match::kInterpolated;
  }

 private:
  struct Dim {
    int64_t min, max;  // all numbers for a dim that the sweep declared irrelevant
    int64_t mask;      // 0 for such a dim: every value of it is the same
  };
  static constexpr uint64_t kSeed = 0x9e3779b97f4a7c15u;

  static uint64_t mix(uint64_t hash, int64_t value) {
    hash = (hash ^ static_cast<uint64_t>(value)) * 0xd1b54a32d192ed03u;
    return hash ^ hash >> 29;
  }
  bool contains(uint64_t hash) const {
    size_t mask = measured_.size() - 1;
    for (size_t slot = hash & mask; measured_[slot] != 0; slot = (slot + 1) & mask) {
      if (measured_[slot] == hash) return true;
    }
    return false;
  }

  std::vector<Dim> dims_;
  std::vector<uint64_t> measured_;  // open-addressed set of hashes; 0 is empty; the size is a power of two
};

/// Which dims of a call lie outside the measured range: "N = 200000 is not in 64..131072"; empty for none.
std::string outside_text(const PackTable& table, const int64_t* slots);

/// "M = 4096, N = 1024"
std::string dims_text(const Signature& signature, const int64_t* slots);

}  // namespace kaon
