// What a machine has for serving and for tuning, what is missing, and what to do about it.
#pragma once

#include <string>
#include <vector>

#include "runtime/driver/device.h"
#include "runtime/launch/lookup.h"

namespace kaon::runner {

/// A pack and what it is for.
struct PackFinding {
  std::string kernel;
  std::string hardware;  // "sm90", "host"
  std::string dtypes;    // of its tables: "bf16, f16"
  std::string place;     // "pretuned", or the file
  uint64_t hash = 0;     // of its bytes, as bundle_id() takes it
  uint64_t image_bytes = 0;
};

/// How one kernel is served on one device.
struct ServiceFinding {
  std::string kernel;
  int device = 0;
  std::string hardware;  // of the table that serves; empty when none does
  std::string fit;       // "exact", "older", "generic", "none"
};

struct Findings {
  std::string driver_library;  // the path or name that is opened
  std::string driver_version;  // of CUDA, as the driver supports it: "12.4"; empty without a driver
  std::string driver_error;
  std::vector<cuda::DeviceInfo> devices;
  std::string ptxas;  // path; empty when there is none
  std::string ptxas_version;
  std::vector<PackFinding> packs;
  std::vector<ServiceFinding> services;
  std::vector<std::string> problems;  // with the mend; what serving on a GPU lacks
  std::vector<std::string> notes;     // what only tuning lacks
};

/// Looks at the driver, the devices, the tools, and the packs: pretuned ones, those of $KAON_HEURISTIC_DIR, and those
/// at `paths`. Never fails: what cannot be looked at is a problem.
Findings examine(const std::vector<std::string>& paths);

/// For people.
std::string findings_text(const Findings& findings);

/// One JSON object with all of it.
std::string findings_json(const Findings& findings);

}  // namespace kaon::runner
