// A child process that speaks in lines: requests on its stdin, answers on its stdout, with limits on patience.
#pragma once

#include <sys/types.h>

#include <deque>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::runner {

/// Owns one process, started in a process group of its own (so that Ctrl-C reaches only the parent) and killed when the
/// parent dies or the object does.
class Child {
 public:
  Child() = default;
  ~Child() { kill(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  /// kNotFound when the program does not exist, kIo when the system refuses.
  Status start(const std::vector<std::string>& argv, const std::vector<std::string>& extra_env = {});
  bool is_running() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }
  /// Writes the line and a newline. kIo when the child is gone.
  Status send(const std::string& line);
  /// The next whole line. kTimeout after `seconds` without one (or interrupt_status()), kIo when the child closed its
  /// output.
  Result<std::string> receive(double seconds);
  /// Descriptor to poll for; receive() may also have lines in stock.
  int output() const { return out_; }
  bool has_line() const { return !lines_.empty(); }
  /// Reads what is there without waiting; false when the child closed its output.
  bool pump();
  /// SIGKILL and wait; harmless when not running. Returns how it ended, "killed by signal 11 (Segmentation fault)".
  std::string kill();
  /// Waits for a child that closed its output by itself.
  std::string reap();
  /// Last lines of its stderr, for messages.
  std::string last_words();

 private:
  void drain_errors();
  std::string collect(bool send_kill);

  pid_t pid_ = -1;
  int in_ = -1, out_ = -1, err_ = -1;
  std::string partial_;
  std::deque<std::string> lines_;
  std::string errors_;
  bool closed_ = false;
};

/// Path of the running program; "" if the system does not tell.
std::string own_executable();
/// A program that ships beside this one: in its folder, in the build tree, or on PATH. kNotFound naming what was looked
/// at.
Result<std::string> find_beside(const std::string& program);

}  // namespace kaon::runner
