// Makes CPU tensors servable: the launch path's backend on the SIMT machine.
#pragma once

#include <cstdint>

#include "runtime/base/status.h"

namespace kaon::host {

struct InstallOptions {
  /// Run every launch on the checking machine: slow, and races or divergence become a status of the call.
  bool checked = false;
  /// Of the order in which a checked machine runs threads.
  uint64_t seed = 1;
};

/// From now on calls on CPU tensors run here; a later call changes the options. Thread-safe. A launch is synchronous,
/// ignores its stream, and takes turns with other launches.
void install(const InstallOptions& options = {});

}  // namespace kaon::host
