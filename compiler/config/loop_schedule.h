// The device loops that a config gives a kernel, and what num_stages and unroll.<axis> turn in them.
#pragma once

#include <string>
#include <vector>

#include "compiler/config/tile_plan.h"
#include "compiler/ir/ir.h"
#include "runtime/base/config.h"

namespace kaon::compiler {

/// The most that num_stages and unroll.<axis> may ask for.
constexpr int64_t kMaxStages = 8;
constexpr int64_t kMaxUnroll = 8;

/// An innermost device loop, with its loads that can be issued before their turn: at least one.
struct AheadLoop {
  AxisId axis = kUnitAxis;
  std::vector<const Op*> loads;
};

/// Axes that some config walks by a device loop: tile axes but for the first of the grid, and whole dimensions.
std::vector<AxisId> loop_axes(const Kernel& kernel, const std::vector<AxisSet>& sets);
/// Whether `config`, complete, does.
bool is_looped(const Kernel& kernel, const Config& config, AxisId axis);

/// Those loops over `axes` of `config`, complete, that num_stages is about.
std::vector<AheadLoop> ahead_loops(const Kernel& kernel, const std::vector<AxisId>& axes, const Config& config);
/// Those of any config.
std::vector<AheadLoop> possible_ahead_loops(const Kernel& kernel, const std::vector<AxisId>& axes);

/// Why num_stages and the unroll.<axis> of a complete config are illegal, where a thread may use `most` registers, of
/// which `others` are for something else than elements. Empty when they are not.
std::string why_illegal_schedule(const Kernel& kernel, const std::vector<AxisSet>& sets,
                                 const std::vector<AxisId>& axes, const Config& config, uint64_t most, uint64_t others);

}  // namespace kaon::compiler
