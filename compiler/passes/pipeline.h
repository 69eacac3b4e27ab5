// The list of passes, in order, from a logical kernel and a config to a staged one.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/target/target.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// A pass rewrites a kernel in place. Illegal configs are kIllegalConfig with numbers; anything else that fails is a
/// bug.
struct Pass {
  const char* name;
  Stage before;
  Stage after;
  Status (*run)(Kernel& kernel, const Target& target);
};

const std::vector<Pass>& all_passes();

struct PipelineOptions {
  std::string stop_after;                                        // name of the last pass to run; empty: all
  std::function<void(const char* pass, const Kernel&)> observe;  // called after each pass
};

/// Runs the passes on a clone of `logical` with `config` (normalised), verifying after each.
Result<Kernel> run_pipeline(const Kernel& logical, const Config& config, const Target& target,
                            const PipelineOptions& options = {});

/// One pass by name on a kernel of its stage; for tests and kaonc --run-pass.
Status run_pass(const std::string& name, Kernel& kernel, const Target& target);

}  // namespace kaon::compiler
