#include "aot_runner/tune/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>

namespace kaon::runner {
namespace {

Status io_error(const char* doing, const std::string& path, int error, const char* mend) {
  return {Code::kIo, fmt::format("cannot {} {}: errno {}: {}{}", doing, path, error, std::strerror(error), mend)};
}

constexpr const char* kUnchanged = "; the old file, if there was one, is unchanged";

/// One name, so that a kill leaves at most one, and the next run takes it.
std::string temporary_name(const std::string& path) { return path + ".tmp"; }

/// The bytes on the disk, beside `path`.
Status write_temporary(const std::string& path, const std::string& bytes) {
  const std::filesystem::path folder = std::filesystem::path(path).parent_path();
  std::error_code made;
  if (!folder.empty()) std::filesystem::create_directories(folder, made);
  if (made) return io_error("make the folder", folder.string(), made.value(), "");
  const int fd = ::open(temporary_name(path).c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return io_error("write", path, errno, kUnchanged);
  size_t written = 0;
  int error = 0;
  while (written < bytes.size() && error == 0) {
    const ssize_t n = ::write(fd, bytes.data() + written, bytes.size() - written);
    if (n < 0 && errno != EINTR) error = errno;
    if (n > 0) written += static_cast<size_t>(n);
  }
  // A full disk may speak up only here.
  if (error == 0 && ::fsync(fd) != 0 && errno != EINVAL && errno != EROFS) error = errno;
  if (::close(fd) != 0 && error == 0) error = errno;
  return error == 0 ? Status::ok() : io_error("write", path, error, kUnchanged);
}

}  // namespace

Result<std::string> read_file(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return io_error("read", path, errno, "");
  std::string bytes;
  char buffer[1 << 16];
  ssize_t n = 0;
  while ((n = ::read(fd, buffer, sizeof buffer)) != 0) {
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) break;
    bytes.append(buffer, static_cast<size_t>(n));
  }
  const int error = errno;
  ::close(fd);
  if (n < 0) return io_error("read", path, error, "");
  return bytes;
}

Status write_file(const std::string& path, const std::string& bytes) { return write_files({{path, bytes}}); }

Status write_files(const std::vector<std::pair<std::string, std::string>>& files) {
  Status status;
  for (size_t i = 0; i < files.size() && status.is_ok(); ++i) status = write_temporary(files[i].first, files[i].second);
  for (size_t i = 0; i < files.size() && status.is_ok(); ++i) {
    const std::string& path = files[i].first;
    if (::rename(temporary_name(path).c_str(), path.c_str()) != 0) status = io_error("write", path, errno, kUnchanged);
  }
  if (status.is_ok()) return status;
  for (const auto& [path, bytes] : files) ::unlink(temporary_name(path).c_str());
  return status;
}

Status check_writable_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code ignored;
  fs::path existing = fs::absolute(folder.empty() ? "." : folder, ignored);
  // Not through links: one that leads nowhere takes no files.
  while (!fs::exists(fs::symlink_status(existing, ignored)) && existing.has_relative_path())
    existing = existing.parent_path();
  std::string probe = (existing / ".kaon_XXXXXX").string();
  const int fd = ::mkstemp(probe.data());
  if (fd < 0) return io_error("write into", folder, errno, "; name a writable folder with --out");
  ::close(fd);
  ::unlink(probe.c_str());
  return Status::ok();
}

FileLock::~FileLock() {
  if (fd_ >= 0) ::close(fd_);
}

Result<bool> FileLock::try_take(const std::string& path) {
  if (fd_ < 0) fd_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644);
  if (fd_ < 0) return io_error("lock", path, errno, "; set KAON_CACHE_DIR to a writable folder");
  if (::flock(fd_, LOCK_EX | LOCK_NB) == 0) return true;
  if (errno == EWOULDBLOCK || errno == EINTR) return false;
  return io_error("lock", path, errno, "");
}

}  // namespace kaon::runner
