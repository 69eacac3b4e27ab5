// What a .kpack holds, as bytes (header and sections) and as the structs that its records become.
//
// A pack is everything measured and compiled for one kernel on one kind of hardware:
//
//   PackHeader                 magic, version, sizes, one SectionEntry per section, checksum of the header
//   section kRecords           the structs below, serialised by runtime/launch/pack_records.h
//   section kJson              provenance for people; the runtime never reads it
//   section kImages            compiled code, each image on a 64-byte boundary
//
// Integers are little-endian. Bytes between sections and between images are zero. The reader is pack.h, the writer
// pack_writer.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/signature.h"
#include "runtime/base/tree.h"
#include "runtime/base/variant.h"

namespace kaon {

constexpr char kPackMagic[8] = {'K', 'A', 'O', 'N', 'P', 'A', 'C', 'K'};
/// Raised when the bytes change meaning; a pack of another version is refused with both numbers.
constexpr uint32_t kPackFormatVersion = 1;
constexpr size_t kPackAlignment = 64;

enum class SectionKind : uint32_t { kRecords = 1, kJson = 2, kImages = 3 };
constexpr int kNumPackSections = 3;

struct SectionEntry {
  uint32_t kind;      // SectionKind, in ascending order
  uint32_t reserved;  // 0
  uint64_t offset;    // from the start of the pack, a multiple of kPackAlignment
  uint64_t bytes;
  uint64_t checksum;  // pack_checksum() of those bytes
};

struct PackHeader {
  char magic[8];
  uint32_t format_version;
  uint32_t num_sections;  // kNumPackSections
  uint64_t total_bytes;   // of the whole pack
  SectionEntry sections[kNumPackSections];
  uint64_t header_checksum;  // pack_checksum() of the header before this field: covers every section, so it names the
                             // pack (pack_hash)
};
static_assert(sizeof(SectionEntry) == 32 && sizeof(PackHeader) == 128, "the header is part of the file format");

/// 64-bit checksum in the manner of FNV-1a, eight bytes a step; any change of one aligned word changes it.
uint64_t pack_checksum(const void* data, size_t bytes);

enum class ImageKind : uint8_t { kCubin, kFatbin, kPtx, kHostElf };
/// "cubin", "fatbin", "ptx", "host_elf".
const char* image_kind_name(ImageKind kind);

/// Whether anyone has run it on the hardware that it was made for.
enum class ImageTrust : uint8_t { kMeasured, kCrossCompiled };
/// "measured here", "cross-compiled, not run".
const char* image_trust_name(ImageTrust trust);

/// Which image of the pack holds a variant's symbol for one target.
struct ImageRef {
  uint32_t image = 0;  // index into the pack's images
  ImageTrust trust = ImageTrust::kMeasured;
};

/// What was measured of a variant, for people and for explain.
struct VariantEvidence {
  uint32_t shapes_served = 0;    // measured shapes whose leaf ranks it first
  double geomean_of_oracle = 0;  // over those shapes: best time / its time, 1 is perfect; 0 when it serves none
  double worst_of_oracle = 0;
};

struct PackVariant {
  VariantInfo info;
  uint64_t fingerprint = 0;      // info.config.fingerprint(); checked by the reader, filled by the writer
  std::vector<ImageRef> images;  // at least one; at most one per target and kind
  VariantEvidence evidence;
};

/// The values of one dim that the tuning covered.
struct DimRange {
  int64_t min = 0;
  int64_t max = 0;
  bool is_ignored = false;  // the sweep declared this dim irrelevant (a batch): never out of range, never compared
};

/// One dtype binding of the kernel.
struct PackTable {
  std::string dtype_key;  // signature.dtype_key()
  Signature signature;
  std::vector<PackVariant> variants;
  // Ends the first leaf, and has no guards but values of dimensions that the kernel is specialised on: without those it
  // ends every leaf, with them each leaf ends in such a variant.
  uint16_t generic_variant = 0;
  DecisionTree tree;
  std::vector<DimRange> ranges;              // one per signature dim
  std::vector<std::vector<int64_t>> shapes;  // dims of each measured shape, in signature order
};

/// Everything in a pack but the images.
struct PackRecords {
  std::string kernel;
  std::string hardware;           // "sm90" or "host"
  std::vector<PackTable> tables;  // distinct dtype keys
};

/// Where an image lies in the images section.
struct ImageRecord {
  std::string target;  // "sm_90", "sm_90a", "host"
  ImageKind kind = ImageKind::kCubin;
  uint64_t offset = 0;  // from the start of the section, a multiple of kPackAlignment
  uint64_t bytes = 0;
};

/// kCorrupt with the place of the first rule above that `records` breaks: what the launch path relies on unchecked.
Status validate(const PackRecords& records, size_t num_images);

}  // namespace kaon
