// What the tuner and a compile worker say to each other: one JSON object a line.
//
//   parent                                             worker
//   {"kernel": "<logical IR>", "target": "sm_90", ...} {"ready": true} or {"code": n, "message": "..."}
//   {"config": {"block.m": 4}}                         {"info": {...}, "resources": {...}, "image": "<hex>", "seconds": s}
//                                                      or {"code": n, "message": "...", "seconds": s}
#pragma once

#include <string>
#include <string_view>

#include "aot_runner/tune/services.h"
#include "runtime/base/status.h"
#include "runtime/base/variant.h"

namespace kaon::runner {

struct CompileJob {
  std::string logical_ir;
  std::string target;
  std::string ptxas;             // path, empty for host
  bool checked = false;          // the asserts in logical_ir stay
  double child_timeout_s = 60;   // of one ptxas or ld
};

std::string encode_job(const CompileJob& job);
Result<CompileJob> decode_job(std::string_view line);
std::string encode_config(const Config& config);
Result<Config> decode_config(std::string_view line);
std::string encode_outcome(const CompileOutcome& outcome);
/// Fills everything but the config, which the parent knows.
Result<CompileOutcome> decode_outcome(std::string_view line);
std::string encode_ready();
/// Ok, or the status that the worker met when it read the job.
Status decode_ready(std::string_view line);

std::string resources_to_json(const Resources& resources);
Result<Resources> resources_from_json(std::string_view json);

}  // namespace kaon::runner
