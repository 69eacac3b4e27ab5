#include "aot_runner/store/keys.h"

#include <nlohmann/json.hpp>

namespace kaon::runner {
namespace {

using nlohmann::json;  // keys sorted

json compile_json(const CompileKey& key) {
  return {{"kernel", key.kernel}, {"dtypes", key.dtypes},     {"constants", key.constants}, {"source", key.source_hash},
          {"target", key.target}, {"compiler", key.compiler}, {"llvm", key.llvm},           {"ptxas", key.ptxas}};
}

json device_json(const MachineFacts& device) {
  return {{"name", device.name},           {"hardware", device.hardware},       {"driver", device.driver},
          {"sm_count", device.sm_count},   {"memory_bytes", device.memory_bytes}, {"clock_mhz", device.clock_mhz},
          {"protocol", kProtocolVersion}};
}

/// The options as the worker is told them; the shape and the variants are other keys.
json options_json(const MeasureOptions& options) {
  Request request;
  request.kind = RequestKind::kMeasure;
  request.measure.options = options;
  return json::parse(encode(request));
}

}  // namespace

std::string compile_context(const CompileKey& key) { return json{{"compile", compile_json(key)}}.dump(); }

std::string measure_context(const MeasureKey& key) {
  json context = {{"measure", compile_json(key.compile)},
                  {"device", device_json(key.device)},
                  {"options", options_json(key.options)},
                  {"scalars", key.scalars}};
  if (!key.data.empty()) context["data"] = key.data;
  return context.dump();
}

std::string device_context(const MachineFacts& device) { return json{{"device", device_json(device)}}.dump(); }

}  // namespace kaon::runner
