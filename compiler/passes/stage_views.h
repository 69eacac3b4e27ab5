// Takes one reshape, slice or concat apart, in two ways.
//   free      every register of the result is a register of an operand in the same thread: a `pick`
//   always    through shared memory by logical position: shared_store of each operand, shared_load of the result
// Which one it is depends on layouts only: the planner of tiles lets views that belong together share their lanes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

/// The registers attribute of the pick that does the view's work; nothing when some element has to leave its thread.
/// Needs the layouts and blocks.
std::optional<std::vector<int64_t>> picked_registers(const Kernel& kernel, const Op& op);

/// Buffers that hold tiles already: parts of one tile need it written once. Good for one region.
using SharedTiles = std::map<std::pair<ValueId, std::vector<int64_t>>, int>;

/// Emits the view's steps at the builder; the last op defines its result anew, in its layout. kUnsupported, in words,
/// for a view that only works where it is rewritten away.
Result<ValueId> stage_view(Builder& builder, const Op& op, SharedTiles* tiles);

bool is_moving_view(OpKind kind);

}  // namespace kaon::compiler
