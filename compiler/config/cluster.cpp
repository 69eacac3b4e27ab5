#include "compiler/config/cluster.h"

#include <algorithm>

namespace kaon::compiler {

Result<uint32_t> cluster_blocks(const Config& config) {
  for (const auto& [knob, text] : config.values()) {
    if (knob.rfind("split.", 0) != 0 || text == "1") continue;
    const Result<KnobValue> value = parse_knob_value(text);
    const int64_t blocks = value && value->word == "cluster" ? value->argument : 0;
    if (blocks == 2 || blocks == 4 || blocks == int64_t{kMaxClusterBlocks}) return static_cast<uint32_t>(blocks);
    return Status(Code::kIllegalConfig, knob + "=" + text + ": expected 1, cluster(2), cluster(4) or cluster(8)");
  }
  return uint32_t{1};
}

bool uses_shared(const Op& op) {
  if (op.kind == OpKind::kSharedStore || op.kind == OpKind::kSharedLoad || op.kind == OpKind::kDotShared) return true;
  return std::any_of(op.regions.begin(), op.regions.end(), [](const Region& region) {
    return std::any_of(region.ops.begin(), region.ops.end(), [](const auto& inner) { return uses_shared(*inner); });
  });
}

}  // namespace kaon::compiler
