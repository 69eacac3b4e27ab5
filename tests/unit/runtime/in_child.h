// What must not touch this process runs in a child of it.
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

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

}  // namespace kaon::testing
