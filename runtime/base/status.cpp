#include "runtime/base/status.h"

#include "runtime/base/text.h"

namespace kaon {

const char* code_name(Code code) {
  switch (code) {
    case Code::kOk: return "ok";
    case Code::kInvalidArgument: return "invalid_argument";
    case Code::kNotFound: return "not_found";
    case Code::kUnsupported: return "unsupported";
    case Code::kValueNotCompiled: return "value_not_compiled";
    case Code::kNoDevice: return "no_device";
    case Code::kDriver: return "driver";
    case Code::kOutOfMemory: return "out_of_memory";
    case Code::kNotPreloaded: return "not_preloaded";
    case Code::kCorrupt: return "corrupt";
    case Code::kStale: return "stale";
    case Code::kIo: return "io";
    case Code::kCompile: return "compile";
    case Code::kIllegalConfig: return "illegal_config";
    case Code::kWrongResult: return "wrong_result";
    case Code::kTimeout: return "timeout";
    case Code::kInternal: return "internal";
  }
  return "unknown";
}

std::string Status::to_string() const {
  if (is_ok()) return "ok";
  return cat(code_name(code_), ": ", message_);
}

}  // namespace kaon
