// All that could change an answer, as texts: the contexts under which the store keeps variants and cells.
#pragma once

#include <map>
#include <string>

#include "aot_runner/measure/protocol.h"

namespace kaon::runner {

/// What a compiled image depends on besides its config.
struct CompileKey {
  std::string kernel;
  std::string dtypes;        // "f16", or "" without generics
  std::map<std::string, int64_t> constants;
  std::string source_hash;
  std::string target;        // "sm_90", "host"
  std::string compiler;      // Kaon's own version
  std::string llvm;
  std::string ptxas;         // empty for host
};

/// What a measured time depends on besides config, shape and pass.
struct MeasureKey {
  CompileKey compile;
  MachineFacts device;
  MeasureOptions options;
  std::map<std::string, double> scalars;
  std::map<std::string, std::string> data;  // rules of inputs, as the shapes file has them
};

/// Canonical JSON, one line: equal keys give equal texts, and nothing else does.
std::string compile_context(const CompileKey& key);
std::string measure_context(const MeasureKey& key);
/// The context of facts about the device itself, such as its calibration.
std::string device_context(const MachineFacts& device);

}  // namespace kaon::runner
