// Choosing the loops and loads that the knobs are about.
#include "compiler/passes/schedule_loops.h"

#include <string>
#include <vector>

#include "compiler/config/row_versions.h"
#include "compiler/ir/fetch_ahead.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

/// An index that an assert watches is not used before the assert.
bool is_watched(const Op& loop, const Op& load) {
  bool watched = false;
  for (const auto& op : loop.regions[0].ops) {
    if (op.get() == &load) return watched && access_operands(load).num_index > 0;
    watched = watched || op->kind == OpKind::kAssert;
  }
  return false;
}

}  // namespace

Status schedule_loops(Kernel& kernel, const Target&) {
  const int64_t stages = kernel.config.get_int("num_stages", 1);
  bool has_ahead = stages == 1;
  walk(kernel.body, [&](Op& loop, const OpPlace&) {
    if (loop.kind != OpKind::kLoop) return;
    const Axis& axis = kernel.axis(static_cast<AxisId>(loop.int_attr("axis")));
    const int64_t unroll = kernel.config.get_int("unroll." + knob_axis(axis), 1);
    if (stages > 1 && is_innermost(loop)) {
      bool any = false;
      for (const auto& op : loop.regions[0].ops) {
        if (fetch_slice(kernel, loop, *op).empty()) continue;
        has_ahead = true;
        if (is_watched(loop, *op)) continue;
        op->set_attr("ahead", int64_t{1});
        any = true;
      }
      if (any) loop.set_attr("stages", stages);
    }
    if (unroll > 1 && loop.find_attr("stages") == nullptr) loop.set_attr("unroll", unroll);
  });
  if (has_ahead) return Status::ok();
  return Status(Code::kIllegalConfig, "num_stages=" + std::to_string(stages) +
                                          ": no innermost loop has a load that could be issued before its turn");
}

}  // namespace kaon::compiler
