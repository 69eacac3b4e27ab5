// Versions of one kernel's body for shorter and longer rows: which there are, and what their axes are called.
//
// A resident row is held by registers for its whole capacity, and what they cost is paid for rows of any length. With
// versions.N = 4 the body exists four times in one kernel, for the capacity, 5/8, 2/5 and a quarter of it; the extent,
// which all blocks share, says which one runs. One variant then serves a wide range of rows about as well as four
// would. With longer.N = loop one more body walks the rows that exceed the capacity by chunks, and no guard bounds the
// extent.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/base/config.h"

namespace kaon::compiler {

/// The most that versions.<axis> may ask for.
constexpr int64_t kMaxVersions = 4;

/// Repetitions of each version of a row held by resident(`repetitions`), largest first, at most `versions`: each about
/// 5/8 of the one before, down to a quarter; equal ones are one. Fewer versions are the first of more.
std::vector<int64_t> version_repetitions(int64_t repetitions, int64_t versions);

/// Name of the axis that stands for `axis` in version `index`, from 1; version 0 is the axis itself.
std::string version_name(const std::string& axis, size_t index);
/// What the knobs of an axis are named after: for a version's axis, the name of its original.
std::string knob_axis(const Axis& axis);
/// 0, or for a version's axis its index.
size_t version_index(const Axis& axis);

/// Name of the axis that stands for `axis` in the version that loops.
std::string loop_version_name(const std::string& axis);
bool is_loop_version(const Axis& axis);
/// Repetitions in a chunk of the version that loops, for a row held by resident(`repetitions`): half, since values of a
/// chunk that are loaded ahead need registers too.
int64_t loop_repetitions(int64_t repetitions);
/// Whether `config` has such a version for `axis`.
bool loops_longer(const Config& config, const Axis& axis);
/// The knob that decides how rows of `axis` are walked, for messages: reduce.<axis>, or longer.<axis> of its original.
std::string walking_knob(const Axis& axis);

/// Positions of a resident row that can hold elements: a shifted window starts up to vec - 1 of them before its row.
int64_t usable_capacity(const Config& config, const Axis& axis, int64_t capacity);

/// Whether the kernel's body can be versioned by this axis: it is the only row axis, its extent comes with the call, no
/// bound of any axis is data, and no view cuts or regroups values along it.
bool can_version(const Kernel& kernel, AxisId axis);

}  // namespace kaon::compiler
