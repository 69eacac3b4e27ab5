// How the log sink is held.
#include "runtime/launch/log.h"

#include <mutex>

namespace kaon {
namespace {

struct Sink {
  std::mutex mutex;
  LogSink function = nullptr;
  void* user = nullptr;
};

Sink& sink() {
  // Leaked on purpose: calls may come from threads that outlive static destruction.
  static Sink* const instance = new Sink;
  return *instance;
}

}  // namespace

void set_log_sink(LogSink function, void* user) {
  std::lock_guard<std::mutex> lock(sink().mutex);
  sink().function = function;
  sink().user = user;
}

void log_line(const std::string& line) {
  LogSink function = nullptr;
  void* user = nullptr;
  {
    std::lock_guard<std::mutex> lock(sink().mutex);
    function = sink().function;
    user = sink().user;
  }
  if (function != nullptr) function(user, line.c_str());
}

}  // namespace kaon
