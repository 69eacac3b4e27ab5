// Does work in child processes, several at a time, so that a crash or a hang costs one item and is known by it.
#pragma once

#include <cstddef>
#include <functional>
#include <string>

namespace kaon::compiler {

struct IsolateOptions {
  int jobs = 1;
  double limit_s = 120;  // of one item
};

/// What a child says of its item.
class ItemLog {
 public:
  explicit ItemLog(int fd) : fd_(fd) {}
  /// What is being done now: shown when the child dies.
  void begin(const std::string& what);
  void done(const std::string& result, bool end_process);

 private:
  int fd_;
};

/// The child's part: fills `result`; returns false when the process is spoilt and must not take another item.
using ItemWork = std::function<bool(size_t item, ItemLog& log, std::string* result)>;
/// The parent's part, in the order in which items end. `death` is empty, or says how the child ended and what it was
/// at.
using ItemDone = std::function<void(size_t item, const std::string& result, const std::string& death)>;

/// Works on items 0 to count. The caller must not have started threads; returns when all items are done.
void run_isolated(size_t count, const IsolateOptions& options, const ItemWork& work, const ItemDone& done);

}  // namespace kaon::compiler
