// Which axes are parts or groups of another one, so that all can lie on the same threads and the views between them
// move no data. The planner deals threads out to roots; what is linked to a root takes its digits from there.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// Positions of an axis within its root: position p of the axis is p * low of the root, below high. A root links to
/// itself, and so does every axis that no view connects; a tile axis that runs by a registered block links to that.
struct AxisLink {
  AxisId root = kUnitAxis;
  int64_t low = 1;
  int64_t high = 0;  // 0: up to the root's end
};

/// What the views ask of the digits of a root.
struct RootNeeds {
  std::vector<int64_t> cuts;                              // weights at which a digit must end or divide
  std::vector<std::pair<int64_t, int64_t>> in_registers;  // [low, high): no digit of these weights on threads
  bool empty() const { return cuts.empty() && in_registers.empty(); }
};

struct AxisLinks {
  std::vector<AxisLink> links;   // by AxisId
  std::vector<RootNeeds> needs;  // by AxisId of the root

  const AxisLink& link(AxisId axis) const { return links[static_cast<size_t>(axis)]; }
  bool is_linked(AxisId axis) const { return link(axis).root != axis; }
  AxisId root(AxisId axis) const { return axis == kUnitAxis ? kUnitAxis : link(axis).root; }
  /// True when some view takes part of this root.
  bool has_parts(AxisId root) const;
};

/// Reads the views of `kernel` in program order. A link that would put two axes of one value on the same digits is left
/// out: that view then moves data.
AxisLinks find_axis_links(const Kernel& kernel);

/// Cuts digits, least significant first, to those of weights [low, high) (0: all above low); empty `ok` when a digit
/// does not divide there.
std::vector<Digit> cut_digits(const std::vector<Digit>& digits, int64_t low, int64_t high, bool* ok);

/// Whether digits of one root do what its views need of them.
bool satisfies(const std::vector<Digit>& digits, const RootNeeds& needs);

}  // namespace kaon::compiler
