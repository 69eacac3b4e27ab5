// Requests become device work; every failure that is a variant's own becomes an event, not the end of the request.
#include "aot_runner/measure/session.h"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "aot_runner/measure/calibrate.h"
#include "aot_runner/measure/timing.h"
#include "aot_runner/measure/variant_rules.h"
#include "compiler/ir/parser.h"
#include "runtime/base/guards.h"

namespace kaon::runner {

namespace {

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The kernel and all that its inputs and the oracle's sample depend on; the kernel's id ends at the line break.
std::string oracle_key(const MeasureRequest& request) {
  Request key;
  key.kind = RequestKind::kMeasure;
  key.measure.kernel = request.kernel;
  key.measure.shape = request.shape;
  key.measure.options.seed = request.options.seed;
  key.measure.options.oracle_programs = request.options.oracle_programs;
  key.measure.options.recipes = request.options.recipes;
  return request.kernel + '\n' + encode(key);
}

}  // namespace

Session::Session(std::unique_ptr<Device> device, Sink sink)
    : device_(std::move(device)), sink_(std::move(sink)), call_(*device_) {
  Event hello;
  hello.kind = EventKind::kHello;
  hello.device = device_->facts();
  emit(hello);
}

void Session::emit(Event event) {
  event.request = request_;
  sink_(event);
}

void Session::emit_checked(const std::string& variant, CheckOutcome outcome) {
  Event event;
  event.kind = EventKind::kChecked;
  event.variant = variant;
  event.check = std::move(outcome);
  emit(event);
}

void Session::emit_begin(const std::string& variant, const char* phase) {
  Event event;
  event.kind = EventKind::kBegin;
  event.variant = variant;
  event.phase = phase;
  emit(event);
}

Session::Next Session::handle(const Request& request) {
  request_ = request.number;
  Event answer;  // kOk, unless the request has an answer of its own
  Status status;
  switch (request.kind) {
    case RequestKind::kKernel: status = add_kernel(request.kernel); break;
    case RequestKind::kVariant: status = add_variant(request.variant); break;
    case RequestKind::kDrop:
      for (const std::string& id : request.drop.variants) variants_.erase(id);
      break;
    case RequestKind::kQuit: return Next::kQuit;
    case RequestKind::kCalibrate: {
      Result<Calibration> calibration = calibrate(*device_);
      answer.kind = EventKind::kCalibrated;
      if (calibration.is_ok()) answer.calibration = *calibration;
      status = calibration.status();
      break;
    }
    case RequestKind::kMeasure:
      status = measure(request.measure);
      if (status.is_ok()) return Next::kGoOn;  // it has said kDone itself
      break;
  }
  if (!status.is_ok()) {
    answer = {};
    answer.kind = EventKind::kError;
    answer.error = status;
  }
  emit(answer);
  return device_->is_lost() ? Next::kDeviceLost : Next::kGoOn;
}

Status Session::add_kernel(const KernelRequest& request) {
  auto kernel = compiler::parse_kernel(request.logical_ir);
  if (!kernel.is_ok()) return Status(kernel.status().code(), "kernel " + request.id + ": " + kernel.status().message());
  if (kernel->stage != compiler::Stage::kLogical) {
    return Status(Code::kInvalidArgument, "kernel " + request.id + ": expected the logical stage");
  }
  oracle_cache_.forget(request.id + '\n');
  kernels_[request.id] = std::make_unique<compiler::Kernel>(std::move(kernel).value());
  return Status::ok();
}

Status Session::add_variant(const VariantRequest& request) {
  const auto kernel = kernels_.find(request.kernel);
  if (kernel == kernels_.end())
    return Status(Code::kNotFound, "variant " + request.id + ": no kernel " + request.kernel);
  KAON_RETURN_IF_ERROR(validate(kernel->second->signature, request.info));
  Variant variant;
  variant.kernel = request.kernel;
  variant.info = request.info;
  variant.image_path = request.image_path;
  variant.image = request.image;
  variants_[request.id] = std::move(variant);
  return Status::ok();
}

Status Session::load(Variant& v) {
  if (v.loaded != nullptr) return Status::ok();
  if (v.image.empty() && !v.image_path.empty()) {
    std::ifstream file(v.image_path, std::ios::binary);
    v.image.assign(std::istreambuf_iterator<char>(file), {});
    if (!file.good() && !file.eof()) return Status(Code::kIo, "cannot read the image " + v.image_path);
  }
  if (v.image.empty()) return Status(Code::kCorrupt, "image " + v.image_path + " is missing or empty");
  KAON_ASSIGN_OR_RETURN(v.loaded, device_->load(v.image, v.info.symbol, v.info.plan.shared_bytes));
  return Status::ok();
}

Launch Session::make_launch(const Variant& v) const {
  Launch launch;
  launch.kernel = v.loaded.get();
  launch.slots = call_.slots();
  const int64_t programs = v.info.plan.programs.evaluate(launch.slots.data());
  launch.programs = programs > 0 ? static_cast<uint64_t>(programs) : 0;
  launch.threads = v.info.plan.threads;
  launch.shared_bytes = v.info.plan.shared_bytes;
  launch.cluster = v.info.plan.cluster;
  for (const LaunchStep& step : v.info.plan.steps) {
    if (step.kind == StepKind::kZero) {
      launch.steps.push_back({Step::Kind::kZero, call_.tensors()[step.tensor].data});
    } else if (launch.programs > 0) {
      launch.steps.push_back({Step::Kind::kKernel, {}});
    }
  }
  launch.restores = call_.restores();
  return launch;
}

/// Keeps the variants that may run this call and whose image loads.
Status Session::admit(const MeasureRequest& request, const compiler::Kernel& kernel,
                      std::vector<Candidate>* candidates) {
  std::set<std::string> seen;
  for (const std::string& id : request.variants) {
    const auto found = variants_.find(id);
    if (found == variants_.end() || found->second.kernel != request.kernel) {
      return Status(Code::kNotFound, "measure: kernel " + request.kernel + " has no variant " + id);
    }
    if (!seen.insert(id).second) return Status(Code::kInvalidArgument, "measure: variant " + id + " is named twice");
    Variant& variant = found->second;
    CheckOutcome refused;
    refused.failure = Failure::kGuard;
    refused.message = refusing_guard(kernel.signature, variant.info.guards, call_.slots().data());
    if (refused.message.empty() && variant.info.plan.shared_bytes > device_->facts().max_shared_bytes) {
      refused.failure = Failure::kLaunch;
      refused.message = "needs " + std::to_string(variant.info.plan.shared_bytes) +
                        " bytes of shared memory, the device has " + std::to_string(device_->facts().max_shared_bytes);
    }
    if (refused.message.empty()) {
      emit_begin(id, "check");
      const Status loaded = load(variant);
      if (device_->is_lost()) return loaded;
      refused.failure = Failure::kLaunch;
      refused.message = loaded.message();
    }
    if (!refused.message.empty()) {
      emit_checked(id, refused);
      continue;
    }
    candidates->push_back({id, &variant, make_launch(variant), nullptr});
  }
  return Status::ok();
}

Status Session::check(const MeasureRequest& request, const compiler::Kernel& kernel, std::vector<Candidate>* candidates,
                      MeasureSummary* summary) {
  const auto start = std::chrono::steady_clock::now();
  Checker checker(*device_, kernel, call_, request.options, oracle_cache_, oracle_key(request));
  std::vector<Candidate> correct;
  std::string trusted;
  for (Candidate& candidate : *candidates) {
    emit_begin(candidate.id, "check");
    KAON_ASSIGN_OR_RETURN(CheckOutcome outcome, checker.check(candidate.launch));
    const Failure failure = outcome.failure;
    const std::string message = outcome.message;
    emit_checked(candidate.id, std::move(outcome));
    if (device_->is_lost()) {
      return Status(Code::kDriver, "variant " + candidate.id + " took the device down: " + message);
    }
    CheckOutcome dethroned;
    dethroned.message = checker.take_dethroned();
    if (!dethroned.message.empty()) {
      dethroned.failure = Failure::kWrongResult;
      correct.erase(std::find_if(correct.begin(), correct.end(), [&](const Candidate& c) { return c.id == trusted; }));
      emit_checked(trusted, dethroned);
      trusted.clear();
    }
    if (failure != Failure::kNone) continue;
    if (trusted.empty()) trusted = candidate.id;
    correct.push_back(std::move(candidate));
  }
  *candidates = std::move(correct);
  summary->check_seconds += seconds_since(start);
  return Status::ok();
}

Status Session::time(const MeasureRequest& request, std::vector<Candidate>* candidates, MeasureSummary* summary) {
  const MeasureOptions& options = request.options;
  std::vector<Contestant> contestants;
  std::vector<std::string> names;
  for (Candidate& candidate : *candidates) {
    emit_begin(candidate.id, "time");
    Result<std::unique_ptr<Replay>> replay = device_->make_replay(candidate.launch);
    if (!replay.is_ok() && device_->is_lost()) return replay.status();
    if (!replay.is_ok()) {
      CheckOutcome refused;
      refused.failure = Failure::kLaunch;
      refused.message = replay.status().message();
      emit_checked(candidate.id, refused);
      continue;
    }
    candidate.replay = std::move(replay).value();
    contestants.push_back({candidate.replay.get(), false});
    names.push_back(candidate.id);
  }
  if (contestants.empty()) return Status::ok();
  std::unique_ptr<Replay> twin, copy;
  if (options.twin) {
    size_t first = 0;
    while ((*candidates)[first].replay == nullptr) ++first;
    KAON_ASSIGN_OR_RETURN(twin, device_->make_replay((*candidates)[first].launch));
    contestants.push_back({twin.get(), true});
    names.push_back("twin");
  }
  if (options.copy) {
    KAON_ASSIGN_OR_RETURN(copy, device_->make_copy_replay(static_cast<int64_t>(call_.traffic_bytes())));
    contestants.push_back({copy.get(), true});
    names.push_back("copy");
  }
  if (empty_us_ < 0) {
    KAON_ASSIGN_OR_RETURN(empty_us_, measure_empty(*device_));
  }
  KAON_ASSIGN_OR_RETURN(const RoundsResult result, time_in_rounds(*device_, contestants, options));
  for (size_t i = 0; i < names.size(); ++i) {
    Event event;
    event.kind = EventKind::kTimed;
    event.variant = names[i];
    event.timing = result.timings[i];
    event.timing.bytes = call_.traffic_bytes();
    emit(event);
  }
  const Health health = device_->health();
  summary->empty_us = empty_us_;
  summary->seconds = result.seconds;
  summary->rounds = result.rounds;
  summary->throttled = health.throttled;
  summary->clock_mhz = health.clock_mhz;
  return Status::ok();
}

Status Session::measure(const MeasureRequest& request) {
  const auto found = kernels_.find(request.kernel);
  if (found == kernels_.end()) return Status(Code::kNotFound, "measure: no kernel " + request.kernel);
  const compiler::Kernel& kernel = *found->second;
  const auto start = std::chrono::steady_clock::now();
  KAON_RETURN_IF_ERROR(call_.make(kernel.signature, request.shape, request.options));
  Event done;
  done.kind = EventKind::kDone;
  done.summary.check_seconds = seconds_since(start);
  std::vector<Candidate> candidates;
  KAON_RETURN_IF_ERROR(admit(request, kernel, &candidates));
  if (request.options.check) KAON_RETURN_IF_ERROR(check(request, kernel, &candidates, &done.summary));
  if (request.options.time) KAON_RETURN_IF_ERROR(time(request, &candidates, &done.summary));
  emit(done);
  return Status::ok();
}

}  // namespace kaon::runner
