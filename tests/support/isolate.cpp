// Forks workers and speaks with them through pipes: the parent writes an item's number, the child writes frames of a
// letter, a length and a text (B: begins, D: done, E: done and leaving).
#include "tests/support/isolate.h"

#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <vector>

namespace kaon::compiler {
namespace {

using Clock = std::chrono::steady_clock;

bool write_all(int fd, const void* data, size_t bytes) {
  const auto* at = static_cast<const char*>(data);
  while (bytes > 0) {
    const ssize_t written = ::write(fd, at, bytes);
    if (written <= 0) return false;
    at += written;
    bytes -= static_cast<size_t>(written);
  }
  return true;
}

bool read_all(int fd, void* data, size_t bytes) {
  auto* at = static_cast<char*>(data);
  while (bytes > 0) {
    const ssize_t got = ::read(fd, at, bytes);
    if (got <= 0) return false;
    at += got;
    bytes -= static_cast<size_t>(got);
  }
  return true;
}

void write_frame(int fd, char letter, const std::string& text) {
  const auto length = static_cast<uint32_t>(text.size());
  std::string frame(1, letter);
  frame.append(reinterpret_cast<const char*>(&length), sizeof length);
  frame += text;
  write_all(fd, frame.data(), frame.size());
}

struct Worker {
  pid_t process = 0;  // 0: none
  int requests = -1, answers = -1;
  size_t item = 0;
  bool is_busy = false;
  std::string doing;
  Clock::time_point started;
};

class Pool {
 public:
  Pool(size_t count, const IsolateOptions& options, const ItemWork& work, const ItemDone& done)
      : count_(count), options_(options), work_(work), done_(done) {
    workers_.resize(std::min(static_cast<size_t>(std::max(options.jobs, 1)), count));
  }

  void run() {
    // A worker that died must not end the parent when it is written to.
    struct sigaction ignore = {}, before = {};
    ignore.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &ignore, &before);
    while (finished_ < count_) {
      for (Worker& worker : workers_) give(worker);
      listen();
    }
    for (Worker& worker : workers_) end(worker);
    sigaction(SIGPIPE, &before, nullptr);
  }

 private:
  void give(Worker& worker) {
    if (worker.is_busy || next_ >= count_) return;
    if (worker.process == 0) start(worker);
    worker.item = next_++;
    worker.is_busy = true;
    worker.doing = "starting";
    worker.started = Clock::now();
    const auto item = static_cast<uint64_t>(worker.item);
    write_all(worker.requests, &item, sizeof item);
  }

  void start(Worker& worker) {
    int requests[2], answers[2];
    if (::pipe(requests) != 0 || ::pipe(answers) != 0) std::abort();
    worker.process = ::fork();
    if (worker.process == 0) {
      for (const Worker& other : workers_) {
        if (other.requests >= 0) ::close(other.requests);
        if (other.answers >= 0) ::close(other.answers);
      }
      ::close(requests[1]);
      ::close(answers[0]);
      serve(requests[0], answers[1]);
    }
    ::close(requests[0]);
    ::close(answers[1]);
    worker.requests = requests[1];
    worker.answers = answers[0];
  }

  [[noreturn]] void serve(int requests, int answers) {
    ItemLog log(answers);
    uint64_t item = 0;
    while (read_all(requests, &item, sizeof item)) {
      std::string result;
      const bool goes_on = work_(static_cast<size_t>(item), log, &result);
      log.done(result, !goes_on);
      if (!goes_on) break;
    }
    ::_exit(0);
  }

  void listen() {
    std::vector<pollfd> waits;
    std::vector<Worker*> owners;
    for (Worker& worker : workers_) {
      if (!worker.is_busy) continue;
      waits.push_back({worker.answers, POLLIN, 0});
      owners.push_back(&worker);
    }
    ::poll(waits.data(), waits.size(), 500);
    for (size_t i = 0; i < waits.size(); ++i) {
      if (waits[i].revents != 0)
        hear(*owners[i]);
      else if (std::chrono::duration<double>(Clock::now() - owners[i]->started).count() > options_.limit_s)
        bury(*owners[i], "no end after " + std::to_string(static_cast<int>(options_.limit_s)) + " s", /*kill=*/true);
    }
  }

  void hear(Worker& worker) {
    char letter = 0;
    uint32_t length = 0;
    std::string text;
    if (!read_all(worker.answers, &letter, 1) || !read_all(worker.answers, &length, sizeof length))
      return bury(worker, "", false);
    text.resize(length);
    if (!read_all(worker.answers, text.data(), length)) return bury(worker, "", false);
    if (letter == 'B') {
      worker.doing = text;
      return;
    }
    worker.is_busy = false;
    ++finished_;
    if (letter == 'E') end(worker);
    done_(worker.item, text, "");
  }

  void bury(Worker& worker, std::string how, bool kill) {
    if (kill) ::kill(worker.process, SIGKILL);
    const int status = end(worker);
    if (how.empty()) {
      how = WIFSIGNALED(status) ? std::string("killed by signal ") + strsignal(WTERMSIG(status))
                                : "ended with status " + std::to_string(WEXITSTATUS(status));
    }
    worker.is_busy = false;
    ++finished_;
    done_(worker.item, "", how + " while " + worker.doing);
  }

  static int end(Worker& worker) {
    if (worker.process == 0) return 0;
    ::close(worker.requests);
    ::close(worker.answers);
    int status = 0;
    ::waitpid(worker.process, &status, 0);
    worker.process = 0;
    worker.requests = worker.answers = -1;
    return status;
  }

  const size_t count_;
  const IsolateOptions options_;
  const ItemWork& work_;
  const ItemDone& done_;
  std::vector<Worker> workers_;
  size_t next_ = 0;
  size_t finished_ = 0;
};

}  // namespace

void ItemLog::begin(const std::string& what) { write_frame(fd_, 'B', what); }

void ItemLog::done(const std::string& result, bool end_process) { write_frame(fd_, end_process ? 'E' : 'D', result); }

void run_isolated(size_t count, const IsolateOptions& options, const ItemWork& work, const ItemDone& done) {
  Pool(count, options, work, done).run();
}

}  // namespace kaon::compiler
