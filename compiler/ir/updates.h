// Stores that change what is in memory: `store {fn = "add"}` makes an element fn of itself and the value. It is read
// and written without an atomic, so no two programs may do it to one element.
#pragma once

#include "compiler/ir/ir.h"

namespace kaon::compiler {

bool is_update(const Op& op);

/// Whether programs of different tiles of `axis` touch different elements: some dimension of the tensor is addressed by
/// the axis itself or, where its tiles are single points, by their begin.
bool is_apart_along(const Kernel& kernel, const Op& access, AxisId axis);

/// Whether what is in the memory of an output before the kernel counts: it is not cleared, and some op changes it where
/// it is.
bool starts_as_memory(const Kernel& kernel, int tensor);

/// Whether every update within `region` is apart along `axis`.
bool updates_are_apart(const Kernel& kernel, const Region& region, AxisId axis);

/// Whether all that `later` may touch is touched by `earlier`: each dimension is addressed alike, or as a whole by
/// `earlier`. Both access the same tensor.
bool covers(const Kernel& kernel, const Op& earlier, const Op& later);

}  // namespace kaon::compiler
