// How the log's sink and file are held.
#include "runtime/launch/log.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

#include "runtime/base/text.h"

namespace kaon {
namespace {

struct Log {
  std::mutex mutex;
  LogSink function = nullptr;
  void* user = nullptr;
  int level = static_cast<int>(LogLevel::kInfo);
  std::string file_name;  // empty for none
  int file = -1;
};

std::string file_of_process(const char* pattern) {
  std::string name = pattern;
  if (const size_t at = name.find("%i"); at != std::string::npos) name.replace(at, 2, std::to_string(getpid()));
  return name;
}

Log& log() {
  // Leaked on purpose: calls may come from threads that outlive static destruction.
  static Log* const instance = [] {
    auto* made = new Log;
    if (const char* level = getenv("KAON_LOG_LEVEL"); level != nullptr && *level != '\0') made->level = atoi(level);
    if (const char* file = getenv("KAON_LOG_FILE"); file != nullptr) made->file_name = file_of_process(file);
    pthread_atfork([] { log().mutex.lock(); }, [] { log().mutex.unlock(); }, [] { log().mutex.unlock(); });
    return made;
  }();
  return *instance;
}

std::atomic<int> heard{-1};  // the last level that anybody hears; -1 until the environment was read

// Needs the lock, or that nobody else has the log yet.
void update_heard(const Log& l) {
  const bool is_silent = l.function == nullptr && l.file_name.empty();
  heard.store(is_silent ? 0 : l.level, std::memory_order_relaxed);
}

const char* level_name(LogLevel level) {
  return level == LogLevel::kError ? "error" : level == LogLevel::kWarning ? "warning" : "info";
}

// One write for a line, so that lines of several threads and processes do not mix. What cannot be written is lost:
// there is nobody left to tell.
void append_to_file(Log& l, LogLevel level, const std::string& line) {
  if (l.file < 0) l.file = open(l.file_name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (l.file < 0) return;
  const std::string text = cat("kaon[", getpid(), "] ", level_name(level), ": ", line, "\n");
  ssize_t ignored = write(l.file, text.data(), text.size());
  (void)ignored;
}

}  // namespace

void set_log_sink(LogSink function, void* user) {
  std::lock_guard<std::mutex> lock(log().mutex);
  log().function = function;
  log().user = user;
  update_heard(log());
}

bool is_logged(LogLevel level) {
  if (heard.load(std::memory_order_relaxed) < 0) {
    std::lock_guard<std::mutex> lock(log().mutex);
    update_heard(log());
  }
  return static_cast<int>(level) <= heard.load(std::memory_order_relaxed);
}

void log_line(LogLevel level, const std::string& line) {
  if (!is_logged(level)) return;
  LogSink function = nullptr;
  void* user = nullptr;
  {
    std::lock_guard<std::mutex> lock(log().mutex);
    if (!log().file_name.empty()) append_to_file(log(), level, line);
    function = log().function;
    user = log().user;
  }
  if (function != nullptr) function(user, line.c_str());
}

}  // namespace kaon
