// The images that go into a pack: compressed where the toolkit can, and cross-compiled for chips that are not at hand.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "aot_runner/tune/session.h"
#include "heuristics/emit_pack.h"

namespace kaon::runner {

/// Images of kept variants of each binding, by config.
using VariantImages = std::vector<std::map<Config, std::vector<heuristics::VariantImage>>>;

/// `kept[b]` are the configs kept of session.bindings[b]. The device's own images come from the store as they were
/// measured; for each further target the configs are compiled now, and one that the target refuses is left out with a
/// line. Further targets also lose the images of the least useful variants when a pack would become larger than is good
/// for a repository; calls there then take what their leaf names next.
Result<VariantImages> gather_variant_images(Session* session, const std::vector<std::vector<Config>>& kept);

}  // namespace kaon::runner
