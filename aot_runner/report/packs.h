// Packs as a serving program has them: those of this installation, of $KAON_HEURISTIC_DIR, and of folders.
#pragma once

#include <string>
#include <vector>

#include "runtime/launch/kernel_entry.h"

namespace kaon::runner {

/// The facts of a chip by name, "sm_120" (or "sm120", "120"), or of "host". kInvalidArgument with the chips that are
/// known.
Result<DeviceFacts> facts_by_name(const std::string& name);

/// Makes the packs at `paths` (files, or folders with all that lie below) known to the runtime of this process, before
/// those that it has. kNotFound for a path that does not exist or holds none; kCorrupt and the like from a pack.
Status load_packs(const std::vector<std::string>& paths);

/// The kernel of that name once the pretuned packs and those at `paths` are known. kNotFound with the kernels there
/// are.
Result<KernelEntry*> open_packs(const std::string& kernel, const std::vector<std::string>& paths);

/// `dtypes`, or when empty the key that all tables of the kernel share. kInvalidArgument when there are several.
Result<std::string> only_dtypes(KernelEntry& kernel, const std::string& dtypes);

}  // namespace kaon::runner
