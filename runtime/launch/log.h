// Where the runtime's few log lines go. Without a sink and a file it is silent.
#pragma once

#include <cstdint>
#include <string>

namespace kaon {

/// What a line is about; $KAON_LOG_LEVEL is the last of these that is told, 0 for none, and 3 where it is not set.
enum class LogLevel : uint8_t {
  kError = 1,    // something that the program asked for was not done
  kWarning = 2,  // calls are served, but not as well as they could be: once per kernel and reason
  kInfo = 3,     // a table was made ready: once per kernel, dtypes and device
};

/// Receives one line without its end. May be called from any thread, never while Kaon holds a lock.
using LogSink = void (*)(void* user, const char* line);

/// Replaces the sink; null silences. Lines are also appended to $KAON_LOG_FILE, where `%i` stands for the process.
void set_log_sink(LogSink sink, void* user);

/// Whether anybody would hear a line of that level; without a lock.
bool is_logged(LogLevel level);
void log_line(LogLevel level, const std::string& line);

}  // namespace kaon
