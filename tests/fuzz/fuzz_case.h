// One case of the fuzzer: what its choices build, and what becomes of it.
#pragma once

#include <cstdint>
#include <string>

#include "tests/fuzz/choices.h"
#include "tests/fuzz/random_program.h"
#include "tests/support/case_device.h"
#include "tests/support/isolate.h"

namespace kaon::compiler {

enum class FuzzVerdict : uint8_t {
  kRight,     // ran and was right
  kUnused,    // no config compiles, or guards refuse every call
  kSlow,      // no end of the compilation: assigned by the parent
  kRejected,  // the front end does not take the program
  kWrong,     // another result than the interpreter's, or the machine complains
  kInternal,  // a bug that the compiler or the interpreter found itself
  kCrashed,   // by signal, or no end: assigned by the parent
};
const char* verdict_name(FuzzVerdict verdict);
inline bool is_failure(FuzzVerdict verdict) { return verdict > FuzzVerdict::kSlow; }

struct FuzzOutcome {
  FuzzVerdict verdict = FuzzVerdict::kRight;
  int64_t calls = 0;
  int64_t compared = 0;       // elements
  int64_t unconstrained = 0;  // of compared: anything passes
  std::string report;         // diagnostics or what is wrong
  std::string text;           // the program
  std::string config;
};

struct FuzzOptions {
  std::string target = "host";
  int max_warps = 0;  // of a block; 0: no limit
  bool compile_only = false;
};

/// Builds the program, chooses a config for it by further choices, runs both on `device` and compares. Without a device
/// it only compiles.
FuzzOutcome run_fuzz_case(Choices& choices, const FuzzOptions& options, CaseDevice* device, ItemLog& log);

}  // namespace kaon::compiler
