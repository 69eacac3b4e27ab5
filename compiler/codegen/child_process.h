// Runs a tool with a time limit and keeps what it prints.
#pragma once

#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::compiler::codegen {

struct ChildResult {
  int exit_code = 0;   // 128 + signal when it was killed
  std::string output;  // stdout and stderr together
};

/// Runs `arguments[0]` (a path, or a name that PATH finds) and waits. kUnsupported when it cannot be started, kTimeout
/// when it was killed at the limit. Thread-safe; the child inherits no open file but the three standard ones.
Result<ChildResult> run_child(const std::vector<std::string>& arguments, double timeout_s);

/// A folder of its own under $TMPDIR or /tmp, removed with all it holds at the end.
class ScratchFolder {
 public:
  static Result<ScratchFolder> create();
  ScratchFolder(ScratchFolder&& other) noexcept : path_(std::move(other.path_)) { other.path_.clear(); }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  ~ScratchFolder();
  std::string file(const std::string& name) const { return path_ + "/" + name; }

 private:
  explicit ScratchFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// kIo with the path and the system's reason.
Status write_file(const std::string& path, const std::string& bytes);
Result<std::string> read_file(const std::string& path);

}  // namespace kaon::compiler::codegen
