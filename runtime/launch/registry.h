// The kernels of the process by name, and what the environment says about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/launch/control.h"
#include "runtime/launch/kernel_entry.h"

namespace kaon {

/// The entry of that name, made when it is new. Thread-safe; never null, never freed.
KernelEntry* kernel_entry(const std::string& name);

/// Null when nothing of that name was registered or loaded.
KernelEntry* find_kernel_entry(const std::string& name);

/// All of them, by name.
std::vector<KernelEntry*> kernel_entries();

/// The packs of $KAON_HEURISTIC_DIR, read once per process in the order of their names. An unreadable directory or a
/// corrupt pack in it is an error for every kernel: the program asked for what is there.
Status directory_packs(std::vector<std::shared_ptr<const Pack>>* packs);

/// What is forced for `kernel`. kInvalidArgument when KAON_FORCE_VARIANT is malformed.
Result<ForcedVariant> forced_variant(const std::string& kernel);

/// Whether PTX may be compiled by the driver on first use: $KAON_ALLOW_PTX=1.
PtxRule ptx_rule();

}  // namespace kaon
