// Requests and events as JSON, by way of one list of fields per struct that serves both directions.
#include "aot_runner/measure/protocol.h"

#include "aot_runner/measure/wire.h"

namespace kaon::runner {

namespace {

constexpr const char* kFailureNames[] = {"none",           "guard",       "launch",  "wrong_result", "red_zone",
                                         "input_modified", "not_written", "machine", "timeout",      "crash"};
constexpr const char* kRecipeNames[] = {"default",       "normal",       "uniform",         "constant",
                                        "sorted",        "even_offsets", "uniform_offsets", "power_offsets",
                                        "giant_offsets", "half_offsets"};
constexpr const char* kRequestNames[] = {"kernel", "variant", "measure", "calibrate", "drop", "quit"};
constexpr const char* kEventNames[] = {"hello", "ok", "error", "begin", "checked", "timed", "done", "calibrated"};

}  // namespace

const char* failure_name(Failure failure) { return kFailureNames[static_cast<size_t>(failure)]; }

bool parse_failure(std::string_view name, Failure* out) {
  for (size_t i = 0; i < std::size(kFailureNames); ++i) {
    if (name != kFailureNames[i]) continue;
    *out = static_cast<Failure>(i);
    return true;
  }
  return false;
}

// One function per struct: fields(wire, value) names every member, for reading and for writing alike.

template <typename Wire>
void fields(Wire& w, MachineFacts& v) {
  w.field("name", v.name);
  w.field("hardware", v.hardware);
  w.field("target", v.target);
  w.field("driver", v.driver);
  w.field("sm_count", v.sm_count);
  w.field("memory_bytes", v.memory_bytes);
  w.field("l2_bytes", v.l2_bytes);
  w.field("max_shared_bytes", v.max_shared_bytes);
  w.field("clock_mhz", v.clock_mhz);
  w.field("memory_clock_mhz", v.memory_clock_mhz);
}

template <typename Wire>
void fields(Wire& w, Recipe& v) {
  w.choice("kind", v.kind, kRecipeNames);
  w.field("low", v.low);
  w.field("high", v.high);
}

template <typename Wire>
void fields(Wire& w, ShapeSpec& v) {
  w.field("dims", v.dims);
  w.optional("scalars", v.scalars);
  w.optional("base_offset", v.base_offset);
  w.optional("in_place", v.in_place);
}

template <typename Wire>
void fields(Wire& w, MeasureOptions& v) {
  w.optional("seed", v.seed);
  w.optional("check", v.check);
  w.optional("time", v.time);
  w.optional("copy", v.copy);
  w.optional("twin", v.twin);
  w.optional("target_mad", v.target_mad);
  w.optional("max_seconds", v.max_seconds);
  w.optional("first_samples", v.first_samples);
  w.optional("min_samples", v.min_samples);
  w.optional("max_samples", v.max_samples);
  w.optional("refine_within", v.refine_within);
  w.optional("oracle_programs", v.oracle_programs);
  w.optional("recipes", v.recipes);
}

template <typename Wire>
void fields(Wire& w, KernelRequest& v) {
  w.field("id", v.id);
  w.field("logical_ir", v.logical_ir);
}

template <typename Wire>
void fields(Wire& w, ExprStep& v) {
  static constexpr const char* kNames[] = {"const",     "slot",     "+",   "-",   "*",
                                           "floor_div", "ceil_div", "mod", "min", "max"};
  w.choice("op", v.op, kNames);
  w.optional("operand", v.operand);
}

template <typename Wire>
void fields(Wire& w, Guard& v) {
  static constexpr const char* kNames[] = {"divisible", "equal", "at_most", "at_least", "congruent", "span_at_most"};
  w.choice("kind", v.kind, kNames);
  w.field("slot", v.slot);
  w.optional("other", v.other);
  w.field("value", v.value);
}

template <typename Wire>
void fields(Wire& w, LaunchStep& v) {
  static constexpr const char* kNames[] = {"kernel", "zero"};
  w.choice("kind", v.kind, kNames);
  w.optional("tensor", v.tensor);
}

template <typename Wire>
void fields(Wire& w, LaunchPlan& v) {
  w.field("steps", v.steps);
  w.expression("programs", v.programs, std::vector<ExprStep>());
  w.field("threads", v.threads);
  w.optional("shared_bytes", v.shared_bytes);
  w.optional("cluster", v.cluster);
}

template <typename Wire>
void fields(Wire& w, Requirements& v) {
  w.optional("shared_bytes", v.shared_bytes);
  w.optional("registers_per_thread", v.registers_per_thread);
  w.optional("threads", v.threads);
}

template <typename Wire>
void fields(Wire& w, VariantInfo& v) {
  w.field("symbol", v.symbol);
  w.config("config", v.config);
  w.optional("guards", v.guards);
  w.field("plan", v.plan);
  w.optional("requirements", v.requirements);
}

template <typename Wire>
void fields(Wire& w, VariantRequest& v) {
  w.field("id", v.id);
  w.field("kernel", v.kernel);
  w.field("info", v.info);
  w.optional("image_path", v.image_path);
  if (v.image_path.empty()) w.bytes("image", v.image);
}

template <typename Wire>
void fields(Wire& w, MeasureRequest& v) {
  w.field("kernel", v.kernel);
  w.field("shape", v.shape);
  w.field("variants", v.variants);
  w.optional("options", v.options);
}

template <typename Wire>
void fields(Wire& w, DropRequest& v) {
  w.field("variants", v.variants);
}

template <typename Wire>
void fields(Wire& w, Request& v) {
  w.choice("request", v.kind, kRequestNames);
  w.optional("number", v.number);
  switch (v.kind) {
    case RequestKind::kKernel: return fields(w, v.kernel);
    case RequestKind::kVariant: return fields(w, v.variant);
    case RequestKind::kMeasure: return fields(w, v.measure);
    case RequestKind::kDrop: return fields(w, v.drop);
    case RequestKind::kCalibrate:
    case RequestKind::kQuit: return;
  }
}

template <typename Wire>
void fields(Wire& w, Timing& v) {
  w.field("median_us", v.median_us);
  w.field("mad_us", v.mad_us);
  w.field("min_us", v.min_us);
  w.field("samples", v.samples);
  w.field("refined", v.refined);
  w.field("bytes", v.bytes);
}

template <typename Wire>
void fields(Wire& w, CheckOutcome& v) {
  w.choice("failure", v.failure, kFailureNames);
  w.optional("message", v.message);
  w.optional("compared", v.compared);
  w.optional("worst_ratio", v.worst_ratio);
  w.optional("seconds", v.seconds);
}

template <typename Wire>
void fields(Wire& w, MeasureSummary& v) {
  w.field("empty_us", v.empty_us);
  w.field("seconds", v.seconds);
  w.field("check_seconds", v.check_seconds);
  w.field("rounds", v.rounds);
  w.optional("throttled", v.throttled);
  w.optional("clock_mhz", v.clock_mhz);
}

template <typename Wire>
void fields(Wire& w, Calibration::CopyPoint& v) {
  w.field("bytes", v.bytes);
  w.field("median_us", v.median_us);
}

template <typename Wire>
void fields(Wire& w, Calibration& v) {
  w.field("empty_us", v.empty_us);
  w.field("copy", v.copy);
  w.field("copy_gb_per_s", v.copy_gb_per_s);
  w.field("noise_median", v.noise_median);
  w.field("noise_p90", v.noise_p90);
  w.field("noise_max", v.noise_max);
  w.field("noise_relative", v.noise_relative);
  w.field("noise_absolute_us", v.noise_absolute_us);
}

template <typename Wire>
void fields(Wire& w, Event& v) {
  w.choice("event", v.kind, kEventNames);
  w.optional("request", v.request);
  switch (v.kind) {
    case EventKind::kHello: {
      int version = kProtocolVersion;
      w.field("protocol", version);
      w.expect("protocol", version == kProtocolVersion, "this protocol's version");
      w.field("device", v.device);
      return;
    }
    case EventKind::kOk: return;
    case EventKind::kError: return w.status("code", "message", v.error);
    case EventKind::kBegin:
      w.field("variant", v.variant);
      w.field("phase", v.phase);
      return;
    case EventKind::kChecked: w.field("variant", v.variant); return fields(w, v.check);
    case EventKind::kTimed: w.field("variant", v.variant); return fields(w, v.timing);
    case EventKind::kDone: return fields(w, v.summary);
    case EventKind::kCalibrated: return fields(w, v.calibration);
  }
}

namespace {

template <typename T>
std::string write_line(const T& value) {
  WireWriter writer;
  T copy = value;  // the one list of fields is written for both directions, so it takes its value mutable
  fields(writer, copy);
  return writer.text();
}

template <typename T>
Result<T> read_line(std::string_view line, const char* what) {
  KAON_ASSIGN_OR_RETURN(WireReader reader, WireReader::parse(line, what));
  T value;
  fields(reader, value);
  KAON_RETURN_IF_ERROR(reader.status());
  return value;
}

}  // namespace

std::string encode(const Request& request) { return write_line(request); }
std::string encode(const Event& event) { return write_line(event); }
Result<Request> decode_request(std::string_view line) { return read_line<Request>(line, "request"); }
Result<Event> decode_event(std::string_view line) { return read_line<Event>(line, "event"); }
std::string variant_to_json(const VariantInfo& info) { return write_line(info); }
Result<VariantInfo> variant_from_json(std::string_view json) { return read_line<VariantInfo>(json, "variant"); }

}  // namespace kaon::runner
