// Runs one kernel, with its types bound, over configs and calls, and compares all that it leaves in memory with the
// oracle.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"
#include "tests/support/case_device.h"
#include "tests/support/case_file.h"

namespace kaon::compiler {

struct RunOptions {
  std::string target = "host";
  std::string ptxas;  // path; empty: as the compiler finds it
  uint64_t seed = 1;
  bool large = false;         // also the shapes that are marked so
  int max_warps = 0;          // of random configs; 0: no limit
  std::string shape;          // this shape alone
  std::string config;         // this config alone
  std::string edge;           // this edge alone, or "plain"
  int data = -1;              // this alternative of the data alone
  bool has_config = false;    // `config` counts, though it may be empty
  bool compile_only = false;  // no calls: what counts is that every config becomes an image
  bool checked = false;       // compiled with checks of asserts and indices
  int64_t whole_limit =
      1 << 21;  // calls of more elements are judged by a sample of their programs, where that is possible
};

/// What one kernel's run came to.
struct RunReport {
  int64_t configs = 0;
  int64_t calls = 0;          // configs times calls that their guards accept
  int64_t refused = 0;        // calls that a guard refused
  int64_t undecided = 0;      // calls whose course depends on rounding, so that the interpreter expects nothing
  int64_t compared = 0;       // elements
  int64_t unconstrained = 0;  // of compared: anything passes, since rounding or an order decides
  int64_t failures = 0;
  std::string text;  // the first failures
};

/// One call with everything that decides its inputs.
struct CaseId {
  CaseShape shape;
  std::string edge = "plain";
  int data = 0;
};

/// `describe(id, config)` is shown with a failure and should say how to repeat it; `begin` hears of each step before it
/// is taken, so that a crash can be told.
struct RunHooks {
  std::function<std::string(const CaseId&, const std::string& config)> describe;
  std::function<void(const std::string&)> begin;
};

/// Runs `kernel` (stage logical) as `cases` and `options` say. Everything that is wrong is in the report.
RunReport run_kernel_cases(const Kernel& kernel, const KernelCases& cases, const RunOptions& options,
                           CaseDevice& device, const RunHooks& hooks);

}  // namespace kaon::compiler
