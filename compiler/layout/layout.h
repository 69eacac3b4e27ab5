// Where each element of a tile lives: digits of its axes mapped to register, lane, warp and cluster-block indices.
//
// A position on an axis is written in mixed radix, least significant digit first. Each digit is either part of the
// register index of a thread, of its lane (0..31), of its warp, or of its block within a cluster:
//
//   256 threads, 8 halves a vector, 7 repetitions, capacity 14336:
//     digit 0  radix 8   register, unit 1     the elements of one 16-byte vector
//     digit 1  radix 32  lane, unit 1
//     digit 2  radix 8   warp, unit 1
//     digit 3  radix 7   register, unit 8     the repetitions
//
// Digits in lanes have a power-of-two radix and unit; in registers and warps any radix will do (seven warps are
// legal). Hardware indices that no digit reads hold replicas: every one of them has the same elements, and exactly
// one, the owner (replica index 0), stores, does atomics and is counted.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kaon::compiler {

enum class Where : uint8_t { kRegister, kLane, kWarp, kBlock };

struct Digit {
  uint32_t radix = 1;
  Where where = Where::kRegister;
  uint32_t unit = 1;  // weight of this digit in the hardware index: (index / unit) % radix is the digit
  friend bool operator==(const Digit& a, const Digit& b) {
    return a.radix == b.radix && a.where == b.where && a.unit == b.unit;
  }
};

/// A point of the hardware that holds one element of a tile.
struct Place {
  uint32_t reg = 0;
  uint32_t lane = 0;
  uint32_t warp = 0;
  uint32_t block = 0;
};

class Layout {
 public:
  Layout() = default;
  /// digits[i] are those of axis i of the tile, least significant first. A unit axis has none.
  Layout(std::vector<std::vector<Digit>> digits, uint32_t num_warps, uint32_t num_blocks = 1);

  int rank() const { return static_cast<int>(digits_.size()); }
  const std::vector<Digit>& digits(int axis) const { return digits_[static_cast<size_t>(axis)]; }
  uint32_t num_registers() const { return num_registers_; }
  uint32_t num_warps() const { return num_warps_; }
  uint32_t num_blocks() const { return num_blocks_; }
  /// Product of the radices of axis `axis`: how many positions it has.
  uint64_t capacity(int axis) const;
  bool empty() const { return num_warps_ == 0; }

  /// Position on each axis of the element that `place` holds.
  std::vector<uint64_t> position(const Place& place) const;
  /// Part of the position on `axis` that the register index alone gives; the position is the sum over the hardware.
  uint64_t register_part(int axis, uint32_t reg) const;
  /// True when `place` is the owner among its replicas: every index bit that no digit reads is zero.
  bool is_owner(const Place& place) const;
  /// The owner of the element at `position`.
  Place owner(const std::vector<uint64_t>& position) const;
  /// Number of consecutive positions on `axis` that consecutive registers hold, starting at register 0.
  uint32_t contiguous(int axis) const;

  /// Layout of the tile after a view. They never move data.
  Layout expand_dims(int dim) const;
  Layout squeeze(int dim) const;
  Layout permute(const std::vector<int64_t>& perm) const;
  /// Layout that a unit axis of the operand needs so that broadcasting to this layout is free: the digits of `dims` dropped.
  Layout drop(const std::vector<int64_t>& dims) const;

  /// Empty when legal, else the reason with both numbers: overlapping digits, a lane radix that is no power of two, ...
  std::string why_illegal() const;
  /// "[8r1 32l1 8w1 7r8 | 4w8] warps 8": what parse_layout reads back.
  std::string to_string() const;

  friend bool operator==(const Layout& a, const Layout& b) {
    return a.digits_ == b.digits_ && a.num_warps_ == b.num_warps_ && a.num_blocks_ == b.num_blocks_;
  }
  friend bool operator!=(const Layout& a, const Layout& b) { return !(a == b); }

 private:
  std::vector<std::vector<Digit>> digits_;
  uint32_t num_warps_ = 0;
  uint32_t num_blocks_ = 1;
  uint32_t num_registers_ = 1;
};

/// False, with the position of the error in `why`, unless `text` is what to_string() writes.
bool parse_layout(const std::string& text, Layout* out, std::string* why);

}  // namespace kaon::compiler
