#include "aot_runner/tune/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>

#include "aot_runner/tune/services.h"

namespace kaon::runner {
namespace {

constexpr size_t kErrorTail = 2000;

struct Pipe {
  int read = -1, write = -1;
};

Status make_pipe(Pipe* pipe) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return {Code::kIo, fmt::format("pipe: errno {}: {}", errno, std::strerror(errno))};
  pipe->read = ends[0];
  pipe->write = ends[1];
  return Status::ok();
}

void close_fd(int* fd) {
  if (*fd >= 0) ::close(*fd);
  *fd = -1;
}

/// Between fork and exec: only calls that are safe there.
[[noreturn]] void become(char* const* argv, char* const* env, int in, int out, int err, pid_t parent) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // the parent died before the line above
  ::dup2(in, 0);
  ::dup2(out, 1);
  ::dup2(err, 2);
  ::execve(argv[0], argv, env);
  ::_exit(127);
}

}  // namespace

Status Child::start(const std::vector<std::string>& argv, const std::vector<std::string>& extra_env) {
  kill();
  if (::access(argv[0].c_str(), X_OK) != 0) {
    return {Code::kNotFound, fmt::format("cannot start {}: errno {}: {}", argv[0], errno, std::strerror(errno))};
  }
  Pipe in, out, err;
  KAON_RETURN_IF_ERROR(make_pipe(&in));
  KAON_RETURN_IF_ERROR(make_pipe(&out));
  KAON_RETURN_IF_ERROR(make_pipe(&err));
  std::vector<char*> args, env;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  for (char** e = environ; *e != nullptr; ++e) env.push_back(*e);
  for (const std::string& e : extra_env) env.push_back(const_cast<char*>(e.c_str()));
  env.push_back(nullptr);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(args.data(), env.data(), in.read, out.write, err.write, parent);
  const int fork_error = errno;
  close_fd(&in.read);
  close_fd(&out.write);
  close_fd(&err.write);
  in_ = in.write;
  out_ = out.read;
  err_ = err.read;
  ::fcntl(in_, F_SETFL, O_NONBLOCK);
  ::fcntl(out_, F_SETFL, O_NONBLOCK);
  ::fcntl(err_, F_SETFL, O_NONBLOCK);
  if (pid_ < 0) {
    kill();
    return {Code::kIo, fmt::format("cannot start {}: errno {}: {}", argv[0], fork_error, std::strerror(fork_error))};
  }
  return Status::ok();
}

Status Child::send(const std::string& line) {
  // A dead child must be an error of this call, not a signal to this process.
  ::signal(SIGPIPE, SIG_IGN);
  const std::string bytes = line + "\n";
  size_t sent = 0;
  while (sent < bytes.size()) {
    const ssize_t n = ::write(in_, bytes.data() + sent, bytes.size() - sent);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) {
      // The child may be waiting for us to read before it reads on.
      pollfd fds[2] = {{in_, POLLOUT, 0}, {out_, POLLIN, 0}};
      ::poll(fds, 2, 250);
      if (fds[1].revents != 0 && !pump()) return {Code::kIo, "the worker ended"};
      if (interrupted()) return interrupt_status();
      continue;
    }
    if (n < 0) return {Code::kIo, fmt::format("the worker is gone: errno {}: {}", errno, std::strerror(errno))};
    sent += static_cast<size_t>(n);
  }
  return Status::ok();
}

bool Child::pump() {
  char buffer[1 << 16];
  for (;;) {
    const ssize_t n = ::read(out_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) closed_ = true;
    if (n <= 0) break;
    partial_.append(buffer, static_cast<size_t>(n));
  }
  size_t start = 0;
  for (size_t end = partial_.find('\n'); end != std::string::npos; end = partial_.find('\n', start)) {
    lines_.push_back(partial_.substr(start, end - start));
    start = end + 1;
  }
  partial_.erase(0, start);
  drain_errors();
  return !closed_;
}

Result<std::string> Child::receive(double seconds) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (lines_.empty()) {
    if (!is_running()) return Status(Code::kIo, "the worker is not running");
    if (closed_ || !pump()) {
      if (!lines_.empty()) break;
      return Status(Code::kIo, "the worker ended");
    }
    if (!lines_.empty()) break;
    if (interrupted()) return interrupt_status();
    const auto left = std::chrono::duration<double>(deadline - std::chrono::steady_clock::now()).count();
    if (left <= 0) return Status(Code::kTimeout, fmt::format("no answer within {:.0f} s", seconds));
    // Short waits, so that an interrupt that hits another thread's call is seen.
    pollfd fds[2] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
    ::poll(fds, 2, static_cast<int>(std::min(left, 0.25) * 1000) + 1);
  }
  std::string line = std::move(lines_.front());
  lines_.pop_front();
  return line;
}

void Child::drain_errors() {
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(err_, buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n == 0) close_fd(&err_);  // an end that stays readable would keep poll() from sleeping
    if (n <= 0) break;
    errors_.append(buffer, static_cast<size_t>(n));
    if (errors_.size() > 2 * kErrorTail) errors_.erase(0, errors_.size() - kErrorTail);
  }
}

std::string Child::last_words() {
  if (err_ >= 0) drain_errors();
  std::string tail = errors_.size() > kErrorTail ? errors_.substr(errors_.size() - kErrorTail) : errors_;
  while (!tail.empty() && (tail.back() == '\n' || tail.back() == ' ')) tail.pop_back();
  return tail;
}

std::string Child::collect(bool send_kill) {
  if (pid_ <= 0) return "not running";
  if (send_kill) ::kill(pid_, SIGKILL);
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  if (err_ >= 0) drain_errors();
  pid_ = -1;
  close_fd(&in_);
  close_fd(&out_);
  close_fd(&err_);
  partial_.clear();
  lines_.clear();
  closed_ = false;
  if (WIFSIGNALED(status))
    return fmt::format("killed by signal {} ({})", WTERMSIG(status), ::strsignal(WTERMSIG(status)));
  return fmt::format("exit status {}", WEXITSTATUS(status));
}

std::string Child::kill() {
  std::string how = collect(/*send_kill=*/true);
  errors_.clear();
  return how;
}

std::string Child::reap() { return collect(/*send_kill=*/false); }

std::string own_executable() {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::read_symlink("/proc/self/exe", error);
  return error ? std::string() : path.string();
}

Result<std::string> find_beside(const std::string& program) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(own_executable()).parent_path();
  std::vector<fs::path> candidates = {folder / program, folder / "measure" / program,
                                      folder.parent_path() / "measure" / program};
  if (const char* path = std::getenv("PATH"); path != nullptr) {
    std::string rest = path;
    for (size_t colon = 0; colon != std::string::npos;) {
      colon = rest.find(':');
      candidates.push_back(fs::path(rest.substr(0, colon)) / program);
      if (colon != std::string::npos) rest.erase(0, colon + 1);
    }
  }
  for (const fs::path& candidate : candidates) {
    if (::access(candidate.c_str(), X_OK) == 0) return candidate.string();
  }
  return Status(Code::kNotFound,
                fmt::format("{} was found neither in {} nor on PATH; build it (ninja {}) or put it beside aot_runner",
                            program, folder.string(), program));
}

}  // namespace kaon::runner
