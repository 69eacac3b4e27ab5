// Names and sizes of a row's versions.
#include "compiler/config/row_versions.h"

#include <algorithm>
#include <charconv>

#include "compiler/config/axis_sets.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

constexpr char kMark = '$';  // in no name that an author can write
const std::string kLoopMark = "$loop";

}  // namespace

std::vector<int64_t> version_repetitions(int64_t repetitions, int64_t versions) {
  constexpr int64_t kShares[kMaxVersions] = {1000, 630, 397, 250};  // a geometric series
  std::vector<int64_t> out;
  for (const int64_t share : kShares) {
    const int64_t shorter = (repetitions * share + 999) / 1000;
    if (static_cast<int64_t>(out.size()) < versions && (out.empty() || shorter < out.back())) out.push_back(shorter);
  }
  return out;
}

std::string version_name(const std::string& axis, size_t index) { return axis + kMark + std::to_string(index); }

std::string knob_axis(const Axis& axis) { return axis.name.substr(0, axis.name.find(kMark)); }

size_t version_index(const Axis& axis) {
  const size_t mark = axis.name.find(kMark);
  size_t index = 0;
  if (mark != std::string::npos) {
    std::from_chars(axis.name.data() + mark + 1, axis.name.data() + axis.name.size(), index);
  }
  return index;
}

std::string loop_version_name(const std::string& axis) { return axis + kLoopMark; }

bool is_loop_version(const Axis& axis) { return axis.name.ends_with(kLoopMark); }

int64_t loop_repetitions(int64_t repetitions) { return (repetitions + 1) / 2; }

bool loops_longer(const Config& config, const Axis& axis) {
  return config.get("longer." + knob_axis(axis), "refuse") == "loop";
}

std::string walking_knob(const Axis& axis) { return (is_loop_version(axis) ? "longer." : "reduce.") + knob_axis(axis); }

int64_t usable_capacity(const Config& config, const Axis& axis, int64_t capacity) {
  const bool shifted = config.get("shift." + knob_axis(axis), "0") == "1";
  return capacity - (shifted ? config.get_int("vec", 1) - 1 : 0);
}

bool can_version(const Kernel& kernel, AxisId id) {
  const Axis& row = kernel.axis(id);
  if (!is_row_axis(row) || !linear_form(row.extent)) return false;
  for (const Axis& axis : kernel.axes) {
    if (&axis != &row && is_row_axis(axis)) return false;
    for (const ValueId value : {axis.begin_value, axis.extent_value, axis.origin, axis.lengths}) {
      if (value != kNoValue) return false;
    }
  }
  bool is_cut = false;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    const bool is_view = op.kind == OpKind::kReshape || op.kind == OpKind::kSlice || op.kind == OpKind::kConcat ||
                         op.kind == OpKind::kRetile || op.kind == OpKind::kMerge;
    if (!is_view) return;
    for (const ValueId operand : op.operands) {
      const auto& axes = kernel.type(operand).axes;
      is_cut |= std::find(axes.begin(), axes.end(), id) != axes.end();
    }
    const auto& axes = kernel.type(op.result()).axes;
    is_cut |= std::find(axes.begin(), axes.end(), id) != axes.end();
  });
  return !is_cut;
}

}  // namespace kaon::compiler
