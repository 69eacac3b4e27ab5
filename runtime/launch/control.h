// What a program says to the runtime besides calling kernels: which tables there are, which variant it insists
// on, and whether its calls are recorded.
#pragma once

#include <cstdint>
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

/// The fingerprint by which variants are named, of a config written as CallInfo and explain write it: "block.m=4
/// num_warps=8". kInvalidArgument for what is no config.
Result<uint64_t> config_fingerprint(const std::string& config);

/// Names everything that decides which variant a call of this process gets: kernels, packs and their order, forced
/// variants, whether PTX is allowed. Ranks that compare it before they start choose alike on equal devices. kIo and
/// kCorrupt for $KAON_HEURISTIC_DIR.
Result<uint64_t> bundle_id();

/// Releases packs that load_pack() has replaced, their code, and what was made ready for earlier choices. The program
/// promises that no call runs meanwhile, that work on the replaced variants is done, that no captured graph that holds
/// them will be launched again, and that it has forgotten their VariantFacts. kDriver when code cannot be unloaded; the
/// rest is released all the same.
Status reclaim();

/// The counters of all kernels as Prometheus reads them: whole lines, for a server's own page.
std::string metrics_text();

/// Counts the shapes of calls from now on; flush_recording(), stop_recording() and the end of the process append them
/// to the file at `path`, one JSON object a line, for `aot_runner tune --shapes`. Several processes may append to one
/// file. KAON_RECORD=path does the same without a word in the program. What was counted for an earlier file is written
/// there first. kInvalidArgument, kIo.
Status start_recording(const std::string& path);
/// Appends what was counted since the last flush. kIo: it is lost.
Status flush_recording();
/// flush_recording(), then nothing more is counted.
Status stop_recording();

/// From now on every launch is a range in the timeline of the profiler that the process runs under (NVTX): domain
/// `kaon`, named after the kernel, the variant's index as its payload. It spans the queueing, not the kernel's run, and
/// in a captured graph is seen at capture alone. KAON_NVTX=1 does the same. kNotFound without a profiler, kUnsupported
/// for one without domains.
Status start_ranges();
void stop_ranges();

}  // namespace kaon
