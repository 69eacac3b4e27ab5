// From a distilled kernel and its images to the contents of a .kpack.
#pragma once

#include <string>
#include <vector>

#include "heuristics/distill.h"
#include "runtime/launch/pack_writer.h"

namespace kaon::heuristics {

/// One compiled form of a variant.
struct VariantImage {
  std::string target;  // "sm_90", "host"
  ImageKind kind = ImageKind::kCubin;
  ImageTrust trust = ImageTrust::kMeasured;
  std::string bytes;
};

/// images[t][v]: the images of variant v of distilled.tables[t], at least one each.
using ImageTable = std::vector<std::vector<std::vector<VariantImage>>>;

/// Records, provenance for people and images, equal images stored once. The bytes come from write_pack().
/// kInvalidArgument when `images` does not fit the distilled tables.
Result<PackContents> make_pack(const Measurements& measurements, const Distilled& distilled, const ImageTable& images,
                               const std::string& date);

}  // namespace kaon::heuristics
