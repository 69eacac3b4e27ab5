// Whole files in and out.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::runner {

/// The whole of a file. kIo with path and errno.
Result<std::string> read_file(const std::string& path);
/// Writes beside the target and renames, so that a failure leaves the old file. kIo with path and errno.
Status write_file(const std::string& path, const std::string& bytes);
/// Paths and bytes. No file is replaced before all lie beside their targets on the disk: a full one keeps every old
/// file. kIo with path and errno.
Status write_files(const std::vector<std::pair<std::string, std::string>>& files);

/// kIo with path and errno unless files can be made in `folder`, or in the nearest folder above that exists. Leaves
/// nothing behind.
Status check_writable_folder(const std::string& folder);

/// A lock on a file that is held until the object ends or the process does, however it ends.
class FileLock {
 public:
  FileLock() = default;
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  /// True when it was free. kIo with path and errno.
  Result<bool> try_take(const std::string& path);

 private:
  int fd_ = -1;
};

}  // namespace kaon::runner
