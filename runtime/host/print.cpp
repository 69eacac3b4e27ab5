// Formatting without varargs, and the sink.
#include "runtime/host/print.h"

#include <cstdio>
#include <cstring>
#include <mutex>
#include <utility>

namespace kaon::host {
namespace {

std::mutex& sink_mutex() {
  static std::mutex mutex;
  return mutex;
}

std::function<void(const std::string&)>& sink() {
  static std::function<void(const std::string&)> function;
  return function;
}

}  // namespace

void set_print_sink(std::function<void(const std::string& line)> new_sink) {
  const std::lock_guard<std::mutex> lock(sink_mutex());
  sink() = std::move(new_sink);
}

void print_line(const char* format, const int64_t* values) {
  std::string line;
  char number[40];
  for (const char* at = format; *at != '\0'; ++at) {
    if (*at != '%') {
      line += *at;
    } else if (at[1] == '%') {
      line += *++at;
    } else if (at[1] == 'g') {
      double value;
      std::memcpy(&value, values++, sizeof value);
      std::snprintf(number, sizeof number, "%g", value);
      line += number;
      ++at;
    } else {  // %lld
      std::snprintf(number, sizeof number, "%lld", static_cast<long long>(*values++));
      line += number;
      at += 3;
    }
  }
  const std::lock_guard<std::mutex> lock(sink_mutex());
  if (sink()) {
    sink()(line);
  } else {
    std::fwrite(line.data(), 1, line.size(), stdout);
  }
}

}  // namespace kaon::host
