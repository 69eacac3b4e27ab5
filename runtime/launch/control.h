// What a program says to the runtime besides calling kernels: which tables there are, and which variant it insists on.
#pragma once

#include <string>

#include "runtime/base/status.h"
#include "runtime/launch/kernel_table.h"

namespace kaon {

/// Reads a pack and puts it before the linked tables of its kernel and hardware; later calls look up again, calls in
/// flight finish with what they had. kNotFound, kIo, kCorrupt.
Status load_pack(const std::string& path);

/// Registers generated tables of any kernels; the packs are read when first needed. kInvalidArgument, kUnsupported for
/// another ABI version; what came before the error stays registered.
Status register_tables(const KernelTableList& list);

/// Forces variants from now on; empty ends it. `spec` is what KAON_FORCE_VARIANT holds: items separated by commas, each
/// `index`, `0xfingerprint`, `kernel=index` or `kernel=0xfingerprint`; without a kernel it is for all of them, and a
/// fingerprint is ignored by kernels that have no such variant. kInvalidArgument with the item that is malformed.
Status force_variant(const std::string& spec);

}  // namespace kaon
