// How a pack's bytes are laid out: records, then JSON, then images, each on its boundary.
#include "runtime/launch/pack_writer.h"

#include <cstring>

#include "runtime/launch/pack.h"
#include "runtime/launch/pack_records.h"

namespace kaon {
namespace {

void pad_to_alignment(std::string* out) {
  out->append((kPackAlignment - out->size() % kPackAlignment) % kPackAlignment, '\0');
}

}  // namespace

Result<std::string> write_pack(const PackContents& contents) {
  PackRecords records = contents.records;
  for (PackTable& table : records.tables) {
    for (PackVariant& variant : table.variants) variant.fingerprint = variant.info.config.fingerprint();
  }
  Status status = validate(records, contents.images.size());
  if (!status.is_ok()) return Status(Code::kInvalidArgument, "pack of " + records.kernel + ": " + status.message());

  std::string sections[kNumPackSections];
  std::vector<ImageRecord> images;
  for (const PackImage& image : contents.images) {
    if (image.bytes.empty() || image.target.empty()) {
      return Status(Code::kInvalidArgument, "pack of " + records.kernel + ": image " + std::to_string(images.size()) +
                                                " has no bytes or no target");
    }
    pad_to_alignment(&sections[2]);
    images.push_back({image.target, image.kind, sections[2].size(), image.bytes.size()});
    sections[2] += image.bytes;
  }
  RecordWriter writer(&sections[0]);
  describe(writer, records, images);
  sections[1] = contents.json;

  PackHeader header = {};
  memcpy(header.magic, kPackMagic, sizeof kPackMagic);
  header.format_version = kPackFormatVersion;
  header.num_sections = kNumPackSections;
  std::string out(sizeof header, '\0');
  for (int i = 0; i < kNumPackSections; ++i) {
    pad_to_alignment(&out);
    header.sections[i] = {static_cast<uint32_t>(i + 1), 0, out.size(), sections[i].size(),
                          pack_checksum(sections[i].data(), sections[i].size())};
    out += sections[i];
  }
  header.total_bytes = out.size();
  header.header_checksum = pack_checksum(&header, offsetof(PackHeader, header_checksum));
  memcpy(out.data(), &header, sizeof header);
  return out;
}

Result<PackContents> read_pack_contents(std::string_view bytes) {
  // The reader wants the alignment that an embedded or mapped pack has; a string's bytes may lie anywhere.
  std::vector<unsigned char> buffer(bytes.size() + kPackAlignment);
  size_t shift = kPackAlignment - reinterpret_cast<uintptr_t>(buffer.data()) % kPackAlignment;
  memcpy(buffer.data() + shift, bytes.data(), bytes.size());
  KAON_ASSIGN_OR_RETURN(std::shared_ptr<const Pack> pack, Pack::borrow(buffer.data() + shift, bytes.size(), "pack"));
  PackContents contents;
  contents.records = pack->records();
  contents.json = std::string(pack->json());
  for (const PackImageView& image : pack->images()) {
    contents.images.push_back(
        {image.target, image.kind, std::string(reinterpret_cast<const char*>(image.data), image.bytes)});
  }
  return contents;
}

}  // namespace kaon
