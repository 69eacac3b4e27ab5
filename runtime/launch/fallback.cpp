// How each fallback is told.
#include "runtime/launch/fallback.h"

#include "runtime/base/text.h"

namespace kaon {
namespace {

std::string variant_text(const Candidate& candidate) {
  return cat("variant ", candidate.facts.index, " (", candidate.config_text, ") serves");
}

// Why each variant that the leaf ranks before `candidate` was passed over.
std::string refusals(const ResolvedTable& table, const Candidate& candidate, int leaf, const int64_t* slots) {
  const PackTable& pack_table = table.pack_table();
  std::string text;
  for (uint16_t index : pack_table.tree.leaves[leaf]) {
    if (index == candidate.facts.index) break;
    const std::string guard = refusing_guard(pack_table.signature, pack_table.variants[index].info.guards, slots);
    append_to(&text, text.empty() ? "" : "; ", cat("variant ", index, ": "),
              guard.empty() ? "does not run on this device" : guard);
  }
  return text;
}

}  // namespace

std::string fallback_line(const ResolvedTable& table, const Candidate& candidate, Match match, int leaf,
                          const int64_t* slots) {
  const PackTable& pack_table = table.pack_table();
  const std::string& hardware = table.facts().hardware;
  const std::string tuned_for = table.pack().hardware();
  const std::string mend = "; run aot_runner tune on this device";
  std::string text =
      cat(pack_table.signature.kernel, pack_table.dtype_key.empty() ? "" : cat(" ", pack_table.dtype_key), " on ",
          table.facts().name, " (", hardware, "), ", match_name(match), ": ");
  switch (match) {
    case Match::kOutOfRange:
      return cat(text, outside_text(pack_table, slots), ", the range that was measured; ", variant_text(candidate),
                 "; add such shapes to the sweep and tune again");
    case Match::kOlderTable:
      return cat(text, "nothing was tuned for ", hardware, ", the table of ", tuned_for, " serves", mend);
    case Match::kGeneric:
      if (table.fit() == TableFit::kGenericOnly) {
        return cat(text, "nothing was tuned for ", hardware, " or older, the generic variant of ", tuned_for, " serves",
                   mend);
      }
      return cat(text, "no tuned variant takes ", dims_text(pack_table.signature, slots), ": ",
                 refusals(table, candidate, leaf, slots), "; ", variant_text(candidate));
    case Match::kTuned:
    case Match::kInterpolated:
    case Match::kForced: return "";
  }
  return "";
}

}  // namespace kaon
