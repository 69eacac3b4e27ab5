// From structs to the bytes of a .kpack, and back: for the tools that make and inspect packs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/launch/pack_format.h"

namespace kaon {

struct PackImage {
  std::string target;  // "sm_90", "host"
  ImageKind kind = ImageKind::kCubin;
  std::string bytes;
};

/// A whole pack in memory. Variants refer to `images` by index; equal images need to be stored only once.
struct PackContents {
  PackRecords records;
  std::string json;  // provenance for people, one JSON object
  std::vector<PackImage> images;
};

/// Bytes of the pack: a pure function of `contents`, in every build. Fills in the fingerprints.
/// kInvalidArgument with the rule of pack_format.h that the contents break.
Result<std::string> write_pack(const PackContents& contents);

/// Inverse of write_pack(). kCorrupt with what and where.
Result<PackContents> read_pack_contents(std::string_view bytes);

}  // namespace kaon
