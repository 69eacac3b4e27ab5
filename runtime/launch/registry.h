// The kernels of the process by name, and what the environment says about them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/launch/kernel_entry.h"

namespace kaon {

/// The entry of that name, made when it is new. Thread-safe; never null, never freed.
KernelEntry* kernel_entry(const std::string& name);

/// Null when nothing of that name was registered or loaded.
KernelEntry* find_kernel_entry(const std::string& name);

/// Reads a pack and puts it before the linked tables of its kernel. kNotFound, kIo, kCorrupt.
Status load_pack(const std::string& path);

/// Registers tables of any kernels. kInvalidArgument or kUnsupported; what was right before the error stays registered.
Status register_tables(const KernelTableList& list);

/// The packs of $KAON_HEURISTIC_DIR, read once per process in the order of their names. An unreadable directory or a
/// corrupt pack in it is an error for every kernel: the program asked for what is there.
Status directory_packs(std::vector<std::shared_ptr<const Pack>>* packs);

/// Forces variants from now on; empty ends it. `spec` is what KAON_FORCE_VARIANT holds: items separated by commas, each
/// `index`, `0xfingerprint`, `kernel=index` or `kernel=0xfingerprint`; without a kernel it is for all of them, and a
/// fingerprint is ignored by kernels that have no such variant. kInvalidArgument with the item that is malformed.
Status force_variant(const std::string& spec);

/// What is forced for `kernel`. kInvalidArgument when KAON_FORCE_VARIANT is malformed.
Result<ForcedVariant> forced_variant(const std::string& kernel);

/// Whether PTX may be compiled by the driver on first use: $KAON_ALLOW_PTX=1.
PtxRule ptx_rule();

}  // namespace kaon
