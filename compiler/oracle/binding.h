// A call of a kernel as the oracle sees it: its slots from host tensors and scalars, and tile sizes to run it with.
#pragma once

#include <vector>

#include "compiler/oracle/oracle.h"

namespace kaon::compiler {

/// The row of slots of a call. kInvalidArgument, with the tensor and both numbers, when ranks, dtypes, extents or a
/// `require` do not fit the signature.
Result<std::vector<int64_t>> bind_slots(const Signature& signature, const std::vector<HostTensor>& tensors,
                                        const std::vector<int64_t>& scalars);

/// Tile size of each axis (0 for axes that are no tiles): the source's, else the config's, else a power of two such
/// that no value of a program has more than 64K elements, inner axes growing first.
std::vector<int64_t> choose_blocks(const Kernel& kernel, const std::vector<int64_t>& slots);

}  // namespace kaon::compiler
