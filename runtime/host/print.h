// Where the lines that kernels print on the CPU target go.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace kaon::host {

/// Lines of print(...) go to `sink`, one at a time, from whichever thread; an empty one means standard output, as at
/// first. Process-wide; not to be changed while a kernel runs.
void set_print_sink(std::function<void(const std::string& line)> sink);

/// Formats "%lld", "%g" and "%%" with `values`, 64 bits each, and gives the line to the sink.
void print_line(const char* format, const int64_t* values);

}  // namespace kaon::host
