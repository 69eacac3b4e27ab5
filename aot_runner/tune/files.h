// Whole files in and out.
#pragma once

#include <string>

#include "runtime/base/status.h"

namespace kaon::runner {

/// The whole of a file. kIo with path and errno.
Result<std::string> read_file(const std::string& path);
/// Writes beside the target and renames, so that a failure leaves the old file. kIo with path and errno.
Status write_file(const std::string& path, const std::string& bytes);

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
