// Where the runtime's few log lines go. Without a sink it is silent.
#pragma once

#include <string>

namespace kaon {

/// Receives one line without its end. May be called from any thread, never while Kaon holds a lock.
using LogSink = void (*)(void* user, const char* line);

/// Replaces the sink; null silences.
void set_log_sink(LogSink sink, void* user);

void log_line(const std::string& line);

}  // namespace kaon
