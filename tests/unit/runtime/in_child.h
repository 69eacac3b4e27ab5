// What must not touch this process runs in a child of it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

namespace kaon::testing {

enum class ChildEnd {
  kAsAProgram,  // what it leaks is found where somebody looks for that
  kAtOnce,      // for children of several threads: what those held on their stacks would pass for leaked
};

/// Runs `body` in a child process and gives the text that it returned.
template <typename Body>
std::string in_child(Body body, ChildEnd end = ChildEnd::kAsAProgram) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    close(ends[0]);
    {
      const std::string text = body();
      if (write(ends[1], text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(1);
    }
    close(ends[1]);
    if (end == ChildEnd::kAtOnce) _exit(0);
    exit(0);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) text.append(buffer, static_cast<size_t>(got));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return text;
  return text + " (the child died: " + std::to_string(status) + ")";
}

struct ProgramEnd {
  pid_t pid;
  bool is_ok;
};

/// Runs one disabled test of this program in a program of its own, with these variables added to its environment: for
/// what a process reads once.
inline ProgramEnd run_alone(const std::string& test,
                            const std::vector<std::pair<const char*, std::string>>& environment) {
  const pid_t child = fork();
  if (child == 0) {
    for (const auto& [name, value] : environment) setenv(name, value.c_str(), 1);
    const std::string filter = "--gtest_filter=" + test;
    execl("/proc/self/exe", "test", "--gtest_also_run_disabled_tests", filter.c_str(), static_cast<char*>(nullptr));
    _exit(1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return {child, WIFEXITED(status) && WEXITSTATUS(status) == 0};
}

}  // namespace kaon::testing
