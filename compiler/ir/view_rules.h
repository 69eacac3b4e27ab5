// What the views that may move data mean: their typing rules, and where in one row-major array of logical positions
// each operand and the result lie.
#pragma once

#include <cstdint>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// The number of coordinates of a unit axis (1) or of an axis whose extent is a constant, whatever its size. 0:
/// neither.
int64_t constant_extent(const Kernel& kernel, AxisId axis);

/// Typing rules; `declared` gives the result's axes, which the operands leave open.
Result<Type> reshape_type(const Kernel& kernel, const Op& op, const Type& declared);
Result<Type> slice_type(const Kernel& kernel, const Op& op, const Type& declared);
Result<Type> concat_type(const Kernel& kernel, const Op& op, const Type& declared);
Result<Type> pick_type(const Kernel& kernel, const Op& op, const Type& declared);

/// A group of neighbouring dims of a reshape's operand that becomes a group of dims of its result: [begin, end) each.
struct RegroupedDims {
  int from_begin = 0, from_end = 0;
  int to_begin = 0, to_end = 0;
};
/// The smallest groups, in order; dims that stay are groups of one to one. Empty when the two lists do not match.
std::vector<RegroupedDims> regrouped_dims(const Kernel& kernel, const std::vector<AxisId>& from,
                                          const std::vector<AxisId>& to);

/// Position p of each dim of a tile at element offset + sum of p * strides of an array.
struct ViewPlace {
  std::vector<int64_t> strides;
  int64_t offset = 0;
};

/// Where the tiles of one reshape, slice or concat lie in the array that holds them all: the result shows, at its own
/// places, what the operands put there.
struct ViewPlaces {
  std::vector<ViewPlace> operands;  // of tiles: a slice's scalar operand has none
  ViewPlace result;
  int64_t elements = 0;      // of the array
  int64_t begin_stride = 0;  // of a slice whose begin is an operand: elements that one more of it skips
};

/// Needs the axes' blocks. kUnsupported, in words for authors, when a part's place depends on the call.
Result<ViewPlaces> view_places(const Kernel& kernel, const Op& op);

/// Coordinates that a dim of this axis takes in such an array: its constant extent, else its tile size.
int64_t array_extent(const Kernel& kernel, AxisId axis);

}  // namespace kaon::compiler
