// What a config means for the axes: how many threads, vectors and repetitions lie along each.
#pragma once

#include <map>
#include <vector>

#include "compiler/config/axis_sets.h"
#include "compiler/ir/ir.h"
#include "runtime/base/config.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// One axis of a set: position = vec elements x threads x repetitions, least significant first.
struct AxisShare {
  AxisId axis = kUnitAxis;
  std::vector<Digit> digits;
  uint64_t threads = 1;
  uint64_t registers = 1;  // elements of one thread along the axis
};

/// How the threads of a block are dealt out to the axes of one set.
struct TileShares {
  std::vector<AxisShare> shares;  // in the order of AxisSet::axes
  uint32_t vec = 1;               // contiguous elements of one thread along the inner axis
  uint64_t inner_threads = 1;
  uint64_t registers = 1;  // elements of one thread in a tile of the whole set
  uint32_t replicas = 1;   // threads that hold the same elements
};

struct TilePlan {
  uint32_t num_warps = 0;  // of the program: of all blocks of its cluster
  uint32_t cluster = 1;    // blocks that share the program
  std::vector<AxisSet> sets;
  std::vector<TileShares> shares;           // one per set
  std::map<AxisId, int64_t> blocks;         // tile size, capacity or padded extent of every axis of a set
  std::map<AxisId, int64_t> linked_blocks;  // the same of every axis that lies on one of a set

  /// Layout of a value with these axes (unit axes included), which belongs to set `set`.
  Layout layout(size_t set, const std::vector<AxisId>& axes) const;
  Layout scalar_layout() const { return Layout({}, num_warps); }
};

/// Deals out the threads of `config`, whose knobs must be complete but for lanes.*. kIllegalConfig with numbers.
Result<TilePlan> plan_tiles(const Kernel& kernel, const std::vector<AxisSet>& sets, const Config& config);

/// Reads `knob` of `config` as an integer in [low, high]. kIllegalConfig when it is absent or something else.
Result<int64_t> int_knob(const Config& config, const std::string& knob, int64_t low, int64_t high);

/// How the rows of an axis are walked.
struct RowPlan {
  bool resident = false;    // else by chunks
  int64_t repetitions = 0;  // of a resident row, or of a chunk that is given by them
  int64_t chunk = 0;        // elements of a chunk that is given by its size, else 0
};
Result<RowPlan> row_knob(const Config& config, const Axis& axis);

}  // namespace kaon::compiler
