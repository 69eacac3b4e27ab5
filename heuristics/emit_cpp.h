// The readable twin of a pack: <kernel>_<hardware>.gen.cpp with select() as plain code, and the .S that embeds the
// pack.
#pragma once

#include <cstdint>
#include <string>

#include "heuristics/distill.h"

namespace kaon::heuristics {

/// What the banner says beyond the measurements.
struct EmitFacts {
  std::string date;        // of generation, "2026-12-01"
  std::string command;     // that remakes the file
  uint64_t pack_hash = 0;  // pack_hash() of the .kpack (runtime/launch/pack.h)
};

/// "softmax_sm90": stem of the generated files, and of the symbols in them.
std::string artifact_name(const Measurements& measurements);

/// The source: provenance banner, one comment per variant with the shapes it serves, a select function per dtype
/// binding, and in namespace kaon::tables the array `<artifact>` of KernelTable and the KernelTableList
/// `<artifact>_list`, both with external linkage. A pure function of its arguments.
std::string emit_cpp(const Measurements& measurements, const Distilled& distilled, const EmitFacts& facts);

/// Assembler source that embeds the pack, 64-byte aligned, between kaon_pack_<artifact>_begin and _end. The build
/// defines KAON_PACK_FILE as the pack's path in quotes and names the pack as a dependency.
std::string emit_embed(const Measurements& measurements);

/// The body of one select function: branch-free sums of comparisons for small trees, nested ifs for large ones.
/// `variant_names[v]` names variant v in the comment of each leaf.
std::string emit_select(const DecisionTree& tree, const Signature& signature, const std::string& name,
                        const std::vector<std::string>& variant_names);

}  // namespace kaon::heuristics
