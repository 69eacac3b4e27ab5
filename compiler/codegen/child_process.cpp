#include "compiler/codegen/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

extern char** environ;

namespace kaon::compiler::codegen {
namespace {

using Clock = std::chrono::steady_clock;

/// Reads until the pipe closes or the deadline passes; true when it closed.
bool drain(int fd, Clock::time_point deadline, std::string* output) {
  char buffer[4096];
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now()).count();
    if (left <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(left));
    if (ready < 0 && errno != EINTR) return true;
    if (ready <= 0) continue;
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count == 0 || (count < 0 && errno != EINTR)) return true;
    if (count > 0) output->append(buffer, static_cast<size_t>(count));
  }
}

}  // namespace

Result<ChildResult> run_child(const std::vector<std::string>& arguments, double timeout_s) {
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0)
    return Status(Code::kIo, std::string("cannot make a pipe: ") + std::strerror(errno));
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 1);
  posix_spawn_file_actions_adddup2(&actions, pipe_ends[1], 2);
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t child = 0;
  const int error = posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipe_ends[1]);
  if (error != 0) {
    close(pipe_ends[0]);
    return Status(Code::kUnsupported, "cannot start " + arguments[0] + ": " + std::strerror(error));
  }
  ChildResult result;
  const auto deadline =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(timeout_s));
  const bool finished = drain(pipe_ends[0], deadline, &result.output);
  close(pipe_ends[0]);
  if (!finished) kill(child, SIGKILL);
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!finished) {
    std::ostringstream text;
    text << arguments[0] << " did not finish within " << timeout_s << " s";
    return Status(Code::kTimeout, text.str());
  }
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

Result<ScratchFolder> ScratchFolder::create() {
  const char* base = std::getenv("TMPDIR");
  std::string path = std::string(base != nullptr && *base != '\0' ? base : "/tmp") + "/kaon-XXXXXX";
  if (mkdtemp(path.data()) == nullptr)
    return Status(Code::kIo, "cannot make a folder " + path + ": " + std::strerror(errno));
  return ScratchFolder(path);
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

Status write_file(const std::string& path, const std::string& bytes) {
  std::ofstream stream(path, std::ios::binary);
  stream.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  stream.close();
  return stream ? Status::ok() : Status(Code::kIo, "cannot write " + path + ": " + std::strerror(errno));
}

Result<std::string> read_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << stream.rdbuf();
  if (!stream) return Status(Code::kIo, "cannot read " + path + ": " + std::strerror(errno));
  return bytes.str();
}

}  // namespace kaon::compiler::codegen
