#include "aot_runner/tune/session.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <utility>

#include "aot_runner/spec/record_file.h"
#include "aot_runner/tune/files.h"
#include "compiler/compile.h"

namespace kaon::runner {
namespace {

constexpr const char* kCalibrationFact = "calibration, two floors";  // a store may hold what older programs measured

/// Runs the user's program with KAON_RECORD set and returns what it recorded.
Result<std::string> record_program(const std::vector<std::string>& argv) {
  const std::string path =
      fmt::format("{}/kaon_record_{}.jsonl", std::filesystem::temp_directory_path().string(), ::getpid());
  std::vector<char*> args;
  for (const std::string& arg : argv) args.push_back(const_cast<char*>(arg.c_str()));
  args.push_back(nullptr);
  const pid_t child = ::fork();
  if (child == 0) {
    ::setenv("KAON_RECORD", path.c_str(), 1);
    ::execvp(args[0], args.data());
    ::_exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    return Status(Code::kInvalidArgument, fmt::format("{} ended with {} {}; its shapes were not used", argv[0],
                                                      WIFEXITED(status) ? "exit status" : "signal",
                                                      WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status)));
  }
  Result<std::string> text = read_file(path);
  ::unlink(path.c_str());
  if (!text.is_ok()) {
    return Status(
        Code::kNotFound,
        fmt::format("{} recorded nothing: it must call Kaon's kernels with recording enabled (KAON_RECORD)", argv[0]));
  }
  return text;
}

Result<ShapesSpec> read_spec(const Session& session, const std::string& text, const std::string& name,
                             const std::vector<std::string>& dims) {
  if (!session.options.program.empty() || looks_like_recording(text)) {
    KAON_ASSIGN_OR_RETURN(const RecordedShapes recorded, parse_recording(text, name, session.kernel->name, dims));
    return spec_from_recording(recorded, dims);
  }
  return parse_shapes(text, name, dims);
}

/// Waits for other runs on the same device with the same store.
Status lock_device(Session* session, const std::string& device) {
  if (session->store->path().empty()) return Status::ok();
  const std::string name = device == "cuda" ? "cuda:0" : device;
  const std::string path = fmt::format("{}/{}.lock", session->environment.cache_folder, name);
  for (bool said = false;; ::usleep(200000)) {
    KAON_ASSIGN_OR_RETURN(const bool taken, session->lock.try_take(path));
    if (taken) return Status::ok();
    if (interrupted()) return interrupt_status();
    if (!std::exchange(said, true))
      session->progress->line(fmt::format("another run is measuring on {}: waiting for it", name));
  }
}

Status connect_device(Session* session) {
  KAON_ASSIGN_OR_RETURN(const std::string worker, find_beside("aot_measure"));
  const std::string asked = session->options.device;
  const auto connect = [&](const std::string& device) -> Status {
    ProfilerOptions options;
    options.command = {worker, "--device", device};
    options.measure = session->measure_options;
    session->profiler = std::make_unique<DeviceProfiler>(options, session->store.get());
    KAON_ASSIGN_OR_RETURN(session->device, session->profiler->connect());
    return lock_device(session, device);
  };
  if (asked != "auto") {
    const Status status = connect(asked);
    if (status.code() == Code::kNoDevice) {
      return {status.code(),
              fmt::format("--device {}: {}; name another device, or use --device host, which needs no GPU", asked,
                          status.message())};
    }
    return status;
  }
  const Status gpu = connect("cuda:0");
  if (gpu.code() != Code::kNoDevice) return gpu;
  session->progress->line(fmt::format("no GPU is usable ({}): tuning on host", gpu.message()));
  return connect("host");
}

/// Where the store notes which assembler made its variants for a target.
Result<int64_t> toolchain_context(Session* session) {
  return session->store->context(fmt::format("{{\"device\":\"toolchain of {}\"}}", session->target.name));
}

bool needs_ptxas(const Session& session) {
  const auto is_cuda = [](const std::string& name) { return name != "host"; };
  return !session.target.is_host ||
         std::any_of(session.options.targets.begin(), session.options.targets.end(), is_cuda);
}

Status find_tools(Session* session) {
  for (const std::string& name : session->options.targets) {
    if (Result<compiler::Target> known = compiler::find_target(name); !known.is_ok()) return known.status();
  }
  if (!needs_ptxas(*session)) return Status::ok();
  KAON_ASSIGN_OR_RETURN(const int64_t context, toolchain_context(session));
  Result<std::string> path = compiler::find_ptxas();
  if (session->options.only_stored) {
    // Another machine's assembler made the variants: its version is part of their key, and none is needed here.
    KAON_ASSIGN_OR_RETURN(const std::optional<std::string> version, session->store->find_fact(context, "ptxas"));
    if (version.has_value()) {
      session->ptxas_version = *version;
      if (path.is_ok()) session->ptxas = *path;
      return Status::ok();
    }
  }
  if (!path.is_ok()) return path.status();
  session->ptxas = *path;
  KAON_ASSIGN_OR_RETURN(session->ptxas_version, compiler::ptxas_version(session->ptxas));
  return session->store->put_fact(context, "ptxas", session->ptxas_version);
}

/// The device's ceiling and noise, measured once per device and kept with the store.
Status calibrate(Session* session) {
  KAON_ASSIGN_OR_RETURN(const int64_t context, session->store->context(device_context(session->device)));
  KAON_ASSIGN_OR_RETURN(const std::optional<std::string> known, session->store->find_fact(context, kCalibrationFact));
  if (known.has_value()) {
    KAON_ASSIGN_OR_RETURN(const Event event, decode_event(*known));
    session->calibration = event.calibration;
    return Status::ok();
  }
  session->progress->phase(fmt::format("calibrate {}", session->device.name));
  Event event;
  event.kind = EventKind::kCalibrated;
  KAON_ASSIGN_OR_RETURN(event.calibration, session->profiler->calibrate());
  session->calibration = event.calibration;
  return session->store->put_fact(context, kCalibrationFact, encode(event));
}

std::string run_key(const Session& session) {
  const TuneOptions& o = session.options;
  std::vector<std::string> bindings;
  for (const BoundKernel& binding : session.bindings) bindings.push_back(measure_context(session.measure_key(binding)));
  return short_hash(fmt::format("{}|{}|{} {} {} {} {} {}", fmt::join(bindings, "|"), spec_to_json(session.spec),
                                o.search, session.effort.trials, session.effort.budget_seconds,
                                session.effort.final_configs, o.max_variants, o.seed));
}

}  // namespace

CompileKey Session::compile_key(const BoundKernel& binding) const {
  CompileKey key;
  key.kernel = kernel->name;
  key.dtypes = binding.dtypes;
  key.constants = binding.constants;
  key.source_hash = source->source_hash();
  key.target = target.name;
  key.compiler = compiler::compiler_version();
  key.llvm = compiler::llvm_version();
  key.ptxas = target.is_host ? std::string() : ptxas_version;
  return key;
}

MeasureKey Session::measure_key(const BoundKernel& binding) const {
  MeasureKey key = {compile_key(binding), device, measure_options, spec.scalars, {}};
  for (const DataRule& rule : spec.data) key.data[rule.tensor()] = rule.text();
  return key;
}

ShapesSpec Session::shapes_of(const BoundKernel& binding) const {
  ShapesSpec own = spec;
  for (std::vector<WeightedShape>* set : {&own.train, &own.measure, &own.held_out}) {
    std::erase_if(*set, [&](const WeightedShape& s) { return !binding.takes(s.shape); });
  }
  return own;
}

/// Every shape has a binding that serves it, and every binding has shapes to be tuned for.
static Status check_specialisations(const Session& session, const std::string& name) {
  const ShapesSpec& spec = session.spec;
  for (const std::vector<WeightedShape>* set : {&spec.train, &spec.measure, &spec.held_out}) {
    for (const WeightedShape& s : *set) {
      const auto takes = [&](const BoundKernel& binding) { return binding.takes(s.shape); };
      if (std::any_of(session.bindings.begin(), session.bindings.end(), takes)) continue;
      std::string values;
      for (const compiler::SpecialisedDim& dim : session.kernel->specialised)
        values += fmt::format("{}{} in ({})", values.empty() ? "" : ", ", dim.name, fmt::join(dim.values, ", "));
      return {Code::kValueNotCompiled,
              fmt::format("{}: shape {} ({}): kernel {} is compiled for {}; add the value to its `specialize`, or "
                          "leave the shape out",
                          name, shape_text(s.shape), fmt::join(spec.dims, "x"), session.kernel->name, values)};
    }
  }
  for (const BoundKernel& binding : session.bindings) {
    if (!session.shapes_of(binding).train.empty()) continue;
    return {Code::kInvalidArgument,
            fmt::format("{}: no train shape for {} {}; add some, or drop the value from its `specialize`", name,
                        session.kernel->name, binding.title)};
  }
  return Status::ok();
}

Status open_kernel(Session* session) {
  KAON_ASSIGN_OR_RETURN(session->source, KernelSource::open(session->options.tile, session->options.checked));
  std::string text, name;
  if (!session->options.program.empty()) {
    name = session->options.program[0];
    KAON_ASSIGN_OR_RETURN(text, record_program(session->options.program));
  } else {
    name = session->options.shapes;
    KAON_ASSIGN_OR_RETURN(text, read_file(name));
  }
  std::string kernel = session->options.kernel;
  if (kernel.empty() && session->options.program.empty() && !looks_like_recording(text)) {
    KAON_ASSIGN_OR_RETURN(kernel, peek_kernel(text, name));
  }
  KAON_ASSIGN_OR_RETURN(session->kernel, session->source->find(kernel));
  KAON_ASSIGN_OR_RETURN(const std::vector<BoundKernel> any, session->source->bind(*session->kernel, {}, {}));
  KAON_ASSIGN_OR_RETURN(session->spec, read_spec(*session, text, name, any.front().logical.signature.dims));
  if (!session->spec.kernel.empty() && session->spec.kernel != session->kernel->name) {
    return {Code::kInvalidArgument, fmt::format("{} is for kernel {}, but {} was asked for", name, session->spec.kernel,
                                                session->kernel->name)};
  }
  const std::vector<std::string>& dtypes =
      session->options.dtypes.empty() ? session->spec.dtypes : session->options.dtypes;
  KAON_ASSIGN_OR_RETURN(session->bindings, session->source->bind(*session->kernel, dtypes, session->spec.constants));
  for (const auto& [scalar, value] : session->spec.scalars) {
    if (session->bindings.front().logical.signature.find_scalar(scalar) < 0) {
      return {Code::kInvalidArgument,
              fmt::format("{}: scalars.{}: kernel {} has no scalar of that name", name, scalar, session->kernel->name)};
    }
  }
  for (const DataRule& rule : session->spec.data) {
    const Signature& signature = session->bindings.front().logical.signature;
    const int tensor = signature.find_tensor(rule.tensor());
    if (tensor >= 0 && !signature.tensors[static_cast<size_t>(tensor)].is_output) continue;
    return {Code::kInvalidArgument, fmt::format("{}: data.{}: kernel {} has no input of that name", name, rule.tensor(),
                                                session->kernel->name)};
  }
  return check_specialisations(*session, name);
}

Status open_machine(Session* session) {
  KAON_ASSIGN_OR_RETURN(session->environment, read_environment());
  KAON_ASSIGN_OR_RETURN(session->effort, resolve_effort(session->options, session->environment));
  session->measure_options.max_seconds = session->effort.effort == Effort::kFull ? 0.5 : 0.25;
  session->measure_options.seed = session->options.seed;
  const std::string folder = session->environment.skip_cache ? std::string() : session->environment.cache_folder;
  KAON_ASSIGN_OR_RETURN(session->store, Store::open(folder));
  if (!session->options.compile_for.empty()) {
    KAON_ASSIGN_OR_RETURN(session->target, compiler::find_target(session->options.compile_for));
    return find_tools(session);
  }
  KAON_RETURN_IF_ERROR(connect_device(session));
  KAON_ASSIGN_OR_RETURN(session->target, compiler::find_target(session->device.target));
  KAON_RETURN_IF_ERROR(find_tools(session));
  KAON_RETURN_IF_ERROR(calibrate(session));
  const std::string date = session->options.date.empty() ? today() : session->options.date;
  KAON_ASSIGN_OR_RETURN(session->run, session->store->begin_run(run_key(*session), date));
  if (!session->options.date.empty()) session->run.date = session->options.date;
  return Status::ok();
}

Status open_store(Session* session, const heuristics::Measurements& measurements) {
  KAON_ASSIGN_OR_RETURN(session->environment, read_environment());
  KAON_ASSIGN_OR_RETURN(session->store, Store::open(session->environment.cache_folder));
  session->device.name = measurements.device.name;
  session->device.hardware = measurements.device.hardware;
  const std::string& hardware = measurements.device.hardware;
  const bool is_cuda = hardware.rfind("sm", 0) == 0;
  KAON_ASSIGN_OR_RETURN(session->target, compiler::find_target(is_cuda ? "sm_" + hardware.substr(2) : "host"));
  session->ptxas_version = measurements.origin.ptxas;
  if (session->options.targets.empty()) return Status::ok();
  KAON_RETURN_IF_ERROR(find_tools(session));
  if (session->ptxas_version == measurements.origin.ptxas) return Status::ok();
  return {Code::kUnsupported,
          fmt::format("the run used ptxas {}, here is {}; set KAON_PTXAS to that one, or leave out --targets",
                      measurements.origin.ptxas, session->ptxas_version)};
}

std::string short_hash(const std::string& text) { return content_hash(text).substr(0, 16); }

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  return fmt::format("{:04}-{:02}-{:02}", utc.tm_year + 1900, utc.tm_mon + 1, utc.tm_mday);
}

}  // namespace kaon::runner
