// How a pack's bytes are proved whole and become structs.
#include "runtime/launch/pack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cerrno>
#include <cstring>

#include "runtime/base/text.h"
#include "runtime/launch/pack_records.h"

namespace kaon {
namespace {

Status corrupt(const std::string& what) { return {Code::kCorrupt, what}; }

const char* section_name(int index) {
  static const char* const kNames[kNumPackSections] = {"records", "json", "images"};
  return kNames[index];
}

bool all_zero(const unsigned char* data, uint64_t begin, uint64_t end) {
  for (uint64_t i = begin; i < end; ++i) {
    if (data[i] != 0) return false;
  }
  return true;
}

}  // namespace

bool RecordReader::has(size_t bytes) {
  if (!status_.is_ok()) return false;
  if (bytes <= bytes_ - position_) return true;
  fail(cat("needs ", bytes, " bytes, ", bytes_ - position_, " are left"));
  return false;
}

void RecordReader::fail(const std::string& what) {
  if (status_.is_ok()) status_ = make_status(Code::kCorrupt, "records byte ", position_, ": ", what);
}

bool RecordReader::take(size_t bytes, uint64_t* value) {
  if (!has(bytes)) return false;
  for (size_t i = 0; i < bytes; ++i) *value |= static_cast<uint64_t>(data_[position_ + i]) << (8 * i);
  position_ += bytes;
  return true;
}

uint8_t RecordReader::byte_up_to(uint8_t last) {
  uint64_t byte = 0;
  take(1, &byte);
  if (byte <= last) return static_cast<uint8_t>(byte);
  fail(cat("value ", byte, ", expected at most ", last));
  return 0;
}

void RecordReader::text(std::string& value) {
  uint64_t length = 0;
  take(sizeof(uint32_t), &length);
  if (!has(length)) return;
  value.assign(reinterpret_cast<const char*>(data_ + position_), length);
  position_ += length;
}

void RecordReader::config(Config& value) {
  std::string json;
  text(json);
  if (!status_.is_ok()) return;
  Result<Config> parsed = Config::from_json(json);
  if (!parsed.is_ok()) return fail(parsed.status().message());
  value = *std::move(parsed);
}

uint32_t RecordReader::begin_list() {
  uint64_t count = 0;
  take(sizeof(uint32_t), &count);
  // Every item takes at least one byte, so a broken count cannot make a list larger than the pack.
  return has(count) ? static_cast<uint32_t>(count) : 0;
}

bool RecordReader::is_good(const char* what, uint32_t index) {
  if (status_.is_ok()) return true;
  if (place_.empty()) place_ = cat(what, " ", index);
  return false;
}

Status RecordReader::status() const {
  if (status_.is_ok() || place_.empty()) return status_;
  return make_status(status_.code(), place_, ": ", status_.message());
}

uint64_t pack_checksum(const void* data, size_t bytes) {
  const unsigned char* p = static_cast<const unsigned char*>(data);
  uint64_t hash = 0xcbf29ce484222325u ^ bytes;
  auto mix = [&hash](uint64_t word) {
    hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
    hash ^= hash >> 32;
  };
  for (; bytes >= 8; bytes -= 8, p += 8) {
    uint64_t word = 0;
    memcpy(&word, p, 8);
    mix(word);
  }
  uint64_t tail = 0;
  for (size_t i = 0; i < bytes; ++i) tail |= static_cast<uint64_t>(p[i]) << (8 * i);
  mix(tail);
  return hash;
}

uint64_t pack_hash(const void* data, size_t bytes) {
  PackHeader header;
  if (bytes < sizeof header) return 0;
  memcpy(&header, data, sizeof header);
  return memcmp(header.magic, kPackMagic, sizeof kPackMagic) == 0 ? header.header_checksum : 0;
}

const char* image_kind_name(ImageKind kind) {
  switch (kind) {
    case ImageKind::kCubin: return "cubin";
    case ImageKind::kFatbin: return "fatbin";
    case ImageKind::kPtx: return "ptx";
    case ImageKind::kHostElf: return "host_elf";
  }
  return "unknown";
}

const char* image_trust_name(ImageTrust trust) {
  return trust == ImageTrust::kMeasured ? "measured here" : "cross-compiled, not run";
}

Pack::~Pack() {
  if (mapping_ != nullptr) munmap(mapping_, mapping_bytes_);
}

Result<std::shared_ptr<const Pack>> Pack::borrow(const void* data, size_t bytes, const std::string& name) {
  if (data == nullptr || reinterpret_cast<uintptr_t>(data) % kPackAlignment != 0) {
    return make_status(Code::kInvalidArgument, name, ": a pack must lie on a 64-byte boundary");
  }
  std::shared_ptr<Pack> pack(new Pack);
  pack->name_ = name;
  Status status = pack->parse(static_cast<const unsigned char*>(data), bytes);
  if (!status.is_ok()) return make_status(status.code(), name, ": ", status.message());
  return std::shared_ptr<const Pack>(std::move(pack));
}

Result<std::shared_ptr<const Pack>> Pack::map_file(const std::string& path) {
  int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) {
    return Status(errno == ENOENT ? Code::kNotFound : Code::kIo, cat(path, ": cannot open: ", strerror(errno)));
  }
  void* mapping = nullptr;
  std::string problem;
  size_t bytes = 0;
  const off_t end = lseek(file, 0, SEEK_END);
  if (end < 0) {
    problem = cat("cannot tell its size: ", strerror(errno));
  } else if (end > 0) {
    bytes = static_cast<size_t>(end);
    mapping = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, file, 0);
    if (mapping == MAP_FAILED) problem = cat("cannot map: ", strerror(errno));
  }
  close(file);
  if (!problem.empty()) return make_status(Code::kIo, path, ": ", problem);
  if (mapping == nullptr) return make_status(Code::kCorrupt, path, ": the file is empty");

  std::shared_ptr<Pack> pack(new Pack);
  pack->name_ = path;
  pack->mapping_ = mapping;
  pack->mapping_bytes_ = bytes;
  Status status = pack->parse(static_cast<const unsigned char*>(mapping), bytes);
  if (!status.is_ok()) return make_status(status.code(), path, ": ", status.message());
  return std::shared_ptr<const Pack>(std::move(pack));
}

const PackTable* Pack::find_table(std::string_view dtype_key) const {
  for (const PackTable& table : records_.tables) {
    if (table.dtype_key == dtype_key) return &table;
  }
  return nullptr;
}

Status Pack::parse(const unsigned char* data, size_t bytes) {
  PackHeader header;
  KAON_RETURN_IF_ERROR(parse_header(data, bytes, &header));
  const SectionEntry& json = header.sections[1];
  const SectionEntry& images = header.sections[2];
  json_ = {reinterpret_cast<const char*>(data + json.offset), static_cast<size_t>(json.bytes)};
  hash_ = header.header_checksum;
  return parse_records(data + header.sections[0].offset, header.sections[0].bytes, data + images.offset, images.bytes);
}

Status Pack::parse_header(const unsigned char* data, size_t bytes, PackHeader* header) const {
  if (bytes < sizeof *header) {
    return corrupt(cat("has ", bytes, " bytes, the header alone takes ", sizeof *header));
  }
  memcpy(header, data, sizeof *header);
  if (memcmp(header->magic, kPackMagic, sizeof kPackMagic) != 0) return corrupt("does not begin with KAONPACK");
  if (header->format_version != kPackFormatVersion) {
    return corrupt(cat("has format version ", header->format_version, ", this build reads ", kPackFormatVersion,
                       "; make it again with the matching aot_runner"));
  }
  if (header->header_checksum != pack_checksum(data, offsetof(PackHeader, header_checksum))) {
    return corrupt("header checksum does not match");
  }
  if (header->total_bytes != bytes) {
    return corrupt(cat("has ", bytes, " bytes, its header says ", header->total_bytes));
  }
  if (header->num_sections != kNumPackSections) {
    return corrupt(cat("has ", header->num_sections, " sections, expected ", kNumPackSections));
  }
  uint64_t end = sizeof *header;
  for (int i = 0; i < kNumPackSections; ++i) {
    const SectionEntry& entry = header->sections[i];
    std::string place = cat("section ", section_name(i), ": ");
    if (entry.kind != static_cast<uint32_t>(i + 1) || entry.reserved != 0) return corrupt(cat(place, "unknown kind"));
    if (entry.offset % kPackAlignment != 0 || entry.offset < end || entry.offset > bytes ||
        entry.bytes > bytes - entry.offset) {
      return corrupt(cat(place, "offset ", entry.offset, " and ", entry.bytes, " bytes do not fit after byte ", end,
                         " of ", bytes));
    }
    if (!all_zero(data, end, entry.offset)) return corrupt(cat(place, "the bytes before it are not zero"));
    if (entry.checksum != pack_checksum(data + entry.offset, entry.bytes)) {
      return corrupt(cat(place, "checksum does not match"));
    }
    end = entry.offset + entry.bytes;
  }
  if (end != bytes) return corrupt(cat("has ", bytes - end, " bytes after its last section"));
  return Status::ok();
}

Status Pack::parse_records(const unsigned char* data, size_t bytes, const unsigned char* images, size_t image_bytes) {
  RecordReader reader(data, bytes);
  std::vector<ImageRecord> records;
  describe(reader, records_, records);
  KAON_RETURN_IF_ERROR(reader.status());
  if (!reader.at_end()) return corrupt("records continue after their end");
  uint64_t end = 0;
  for (size_t i = 0; i < records.size(); ++i) {
    const ImageRecord& image = records[i];
    std::string place = cat("image ", i, ": ");
    if (image.target.empty()) return corrupt(cat(place, "names no target"));
    if (image.bytes == 0) return corrupt(cat(place, "is empty"));
    if (image.offset % kPackAlignment != 0 || image.offset < end || image.offset > image_bytes ||
        image.bytes > image_bytes - image.offset) {
      return corrupt(cat(place, "offset ", image.offset, " and ", image.bytes, " bytes do not fit after byte ", end,
                         " of ", image_bytes));
    }
    end = image.offset + image.bytes;
    images_.push_back({image.target, image.kind, images + image.offset, static_cast<size_t>(image.bytes)});
  }
  return validate(records_, images_.size());
}

}  // namespace kaon
