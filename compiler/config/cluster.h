// Programs that a cluster of blocks shares: split.<row axis> = cluster(c).
//
// Up to the code for the GPU, c blocks of W warps are one block of c x W warps: layouts, reductions and barriers need
// not know. There the warps of block b count from b x W, shared memory is that of the cluster's first block, and a
// barrier is one of the cluster. On the CPU target they stay one block.
#pragma once

#include <cstdint>
#include <string>

#include "compiler/ir/ir.h"
#include "runtime/base/config.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// What every device with clusters can launch.
constexpr uint32_t kMaxClusterBlocks = 8;

/// Blocks that share a program: 1 without the knob. kIllegalConfig for a value that is neither 1 nor cluster(2, 4 or
/// 8).
Result<uint32_t> cluster_blocks(const Config& config);

/// Whether a staged op, or one in its regions, reads or writes shared memory.
bool uses_shared(const Op& op);

}  // namespace kaon::compiler
