// Which loads of a loop can be issued turns before the one that uses them, and how that is written: attributes of a staged
// kernel's loops, beside those of ir.h.
//   loop {stages}   at least 2, of an innermost loop: its loads with `ahead` are issued stages - 1 turns before their own
//   loop {unroll}   so many turns between two jumps; not with stages
//   load {ahead}    in the body of a loop with stages
#pragma once

#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// True when the tensor is the same all through the kernel: no output, nor the memory of one.
bool is_never_written(const Kernel& kernel, int64_t tensor);

/// Ops that a thread can do again by itself, and whose results no memory has a part in.
bool can_repeat(OpKind kind);

/// The ops of the body of `loop`, also a tile, that `load`, one of them, needs for its operands, in order and with it
/// at the end. Empty when the load must wait for its turn: its tensor may be written, or its place, mask or the extent
/// of an axis depends on what is carried, loaded, folded or exchanged between threads in the loop; or when it reads the
/// same each turn (of the last axis).
std::vector<const Op*> fetch_slice(const Kernel& kernel, const Op& loop, const Op& load);

/// True when a loop or tile has no other in it.
bool is_innermost(const Op& loop);

/// Rule for the attributes stages, unroll and ahead of a loop and its loads.
Status check_schedule(const Kernel& kernel, const Op& loop);

}  // namespace kaon::compiler
