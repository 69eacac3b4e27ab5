// A .kpack that has been proved whole: the reader. Nothing of a pack is used before all of it was validated.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/launch/pack_format.h"

namespace kaon {

/// An image in place; `data` is 64-byte aligned and lives as long as its Pack.
struct PackImageView {
  std::string target;
  ImageKind kind = ImageKind::kCubin;
  const unsigned char* data = nullptr;
  size_t bytes = 0;
};

class Pack {
 public:
  /// Validates bytes that outlive the Pack, such as an embedded pack; they must be 64-byte aligned.
  /// kCorrupt with what and where; kInvalidArgument when misaligned. `name` starts the messages.
  static Result<std::shared_ptr<const Pack>> borrow(const void* data, size_t bytes, const std::string& name);
  /// Maps a file read-only. The file must not be changed in place while the Pack lives; replace it by rename.
  /// kNotFound, kIo, or as borrow().
  static Result<std::shared_ptr<const Pack>> map_file(const std::string& path);

  Pack(const Pack&) = delete;
  Pack& operator=(const Pack&) = delete;
  ~Pack();

  const std::string& name() const { return name_; }
  const std::string& kernel() const { return records_.kernel; }
  const std::string& hardware() const { return records_.hardware; }
  const std::vector<PackTable>& tables() const { return records_.tables; }
  const std::vector<PackImageView>& images() const { return images_; }
  std::string_view json() const { return json_; }
  const PackRecords& records() const { return records_; }
  /// Names the pack's bytes; equals pack_hash() of them.
  uint64_t hash() const { return hash_; }
  /// Null when there is none.
  const PackTable* find_table(std::string_view dtype_key) const;

 private:
  Pack() = default;
  Status parse(const unsigned char* data, size_t bytes);
  Status parse_header(const unsigned char* data, size_t bytes, PackHeader* header) const;
  Status parse_records(const unsigned char* data, size_t bytes, const unsigned char* images, size_t image_bytes);

  std::string name_;
  PackRecords records_;
  std::vector<PackImageView> images_;
  std::string_view json_;
  uint64_t hash_ = 0;
  void* mapping_ = nullptr;  // owned when not null
  size_t mapping_bytes_ = 0;
};

/// The hash that names a pack: its header's checksum, which covers every section. 0 when `bytes` is no pack.
uint64_t pack_hash(const void* data, size_t bytes);

}  // namespace kaon
