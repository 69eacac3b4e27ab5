// What the profiler of the tests was told.
#pragma once

#include <cstdint>

extern "C" {

struct NvtxToolState {
  int starts;  // of the profiler
  int pushes;
  int open_ranges;  // begun and not ended
  int registered_strings;
  int faults;  // wrong domain, attributes or string
  int64_t last_payload;
  const char* domain;
  const char* range;  // the last string that was registered
};

NvtxToolState nvtx_tool_state();
}
