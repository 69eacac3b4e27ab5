// The chips that code is made for: one row each in targets.inc.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/status.h"

namespace kaon::compiler {

struct Target {
  std::string name;  // "sm_90", "host"
  bool is_host = false;
  int sm = 0;                     // 90; 0 for host
  std::string llvm_cpu;           // what LLVM writes PTX for: sm_120 takes PTX for sm_90
  std::string ptx_feature;        // "+ptx83"
  std::string ptxas_arch;         // "sm_120"
  uint32_t max_shared_bytes = 0;  // opt-in dynamic shared memory per block
  uint32_t registers_per_sm = 65536;
  uint32_t max_registers_per_thread = 255;
  uint32_t max_threads = 1024;  // per block
  uint32_t max_threads_per_sm = 2048;
  bool has_cp_async = false;
  bool has_cluster = false;
};

/// kInvalidArgument with the list of known names.
Result<Target> find_target(const std::string& name);
const std::vector<Target>& all_targets();

}  // namespace kaon::compiler
