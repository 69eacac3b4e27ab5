#include "aot_runner/tune/device_profiler.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace kaon::runner {
namespace {

constexpr int kMaxBlamelessDeaths = 2;  // in a row, without a variant to blame: then the machine is at fault

}  // namespace

/// One shape in one pass, until every variant is answered.
struct DeviceProfiler::Round {
  Shape shape;
  int pass = 0;
  std::vector<StoredVariant> open;          // not answered yet
  std::map<std::string, StoredCell> timed;  // final once the request is done
  std::string current;                      // variant of the last begin
  std::chrono::steady_clock::time_point start;
  int blameless = 0;

  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); }
};

std::string DeviceProfiler::variant_id(const StoredVariant& variant) const {
  return kernel_.id + "/" + fmt::format("{:016x}", variant.config.fingerprint());
}

Result<MachineFacts> DeviceProfiler::connect() {
  KAON_RETURN_IF_ERROR(ensure_ready());
  return facts_;
}

void DeviceProfiler::set_kernel(ProfiledKernel kernel) { kernel_ = std::move(kernel); }

Result<Event> DeviceProfiler::next_event(double seconds) {
  KAON_ASSIGN_OR_RETURN(const std::string line, child_.receive(seconds));
  return decode_event(line);
}

Status DeviceProfiler::ensure_ready() {
  if (!child_.is_running()) {
    sent_kernels_.clear();
    sent_variants_.clear();
    KAON_RETURN_IF_ERROR(child_.start(options_.command));
    restarts_ += was_connected_ ? 1 : 0;
    Result<Event> hello = next_event(options_.start_seconds);
    if (!hello.is_ok()) {
      if (is_interrupt(hello.status())) return hello.status();
      const std::string words = child_.last_words();
      return {hello.status().code(), fmt::format("the measuring worker did not start: {}{}{}", hello.status().message(),
                                                 words.empty() ? "" : "; ", words)};
    }
    if (hello->kind == EventKind::kError) {
      child_.kill();
      return hello->error;
    }
    facts_ = hello->device;
    was_connected_ = true;
  }
  if (kernel_.id.empty() || sent_kernels_.count(kernel_.id) > 0) return Status::ok();
  Request request;
  request.kind = RequestKind::kKernel;
  request.kernel = {kernel_.id, kernel_.logical_ir};
  KAON_RETURN_IF_ERROR(ask(&request));
  KAON_ASSIGN_OR_RETURN(const Event event, next_event(options_.event_seconds));
  if (event.kind == EventKind::kError) return event.error;
  sent_kernels_.insert(kernel_.id);
  return Status::ok();
}

Status DeviceProfiler::ask(Request* request) {
  request->number = ++number_;
  return child_.send(encode(*request));
}

Result<Calibration> DeviceProfiler::calibrate() {
  KAON_RETURN_IF_ERROR(ensure_ready());
  Request request;
  request.kind = RequestKind::kCalibrate;
  KAON_RETURN_IF_ERROR(ask(&request));
  KAON_ASSIGN_OR_RETURN(const Event event, next_event(options_.event_seconds));
  if (event.kind == EventKind::kError) return event.error;
  return event.calibration;
}

StoredCell DeviceProfiler::make_cell(const Round& round, const StoredVariant& variant) const {
  StoredCell cell;
  cell.config = variant.config;
  cell.shape = shape_text(round.shape);
  cell.pass = round.pass;
  return cell;
}

Status DeviceProfiler::load_variants(Round* round, const Done& done) {
  std::vector<StoredCell> refused;
  for (const StoredVariant& variant : round->open) {
    const std::string id = variant_id(variant);
    if (sent_variants_.count(id) > 0) continue;
    Request request;
    request.kind = RequestKind::kVariant;
    request.variant.id = id;
    request.variant.kernel = kernel_.id;
    KAON_ASSIGN_OR_RETURN(request.variant.info, variant_from_json(variant.info));
    KAON_ASSIGN_OR_RETURN(request.variant.image, store_->image(variant.image_hash));
    round->current = id;
    KAON_RETURN_IF_ERROR(ask(&request));
    KAON_ASSIGN_OR_RETURN(const Event event, next_event(options_.event_seconds));
    round->current.clear();
    if (event.kind == EventKind::kError) {
      StoredCell cell = make_cell(*round, variant);
      cell.failure = Failure::kLaunch;
      cell.message = event.error.message();
      refused.push_back(std::move(cell));
    } else {
      sent_variants_.insert(id);
    }
  }
  for (const StoredCell& cell : refused) {
    std::erase_if(round->open, [&](const StoredVariant& v) { return v.config == cell.config; });
  }
  return refused.empty() ? Status::ok() : done(refused);
}

Status DeviceProfiler::take_event(Round* round, const Event& event, const Done& done, bool* finished) {
  const auto open = std::find_if(round->open.begin(), round->open.end(),
                                 [&](const StoredVariant& v) { return variant_id(v) == event.variant; });
  switch (event.kind) {
    case EventKind::kBegin: round->current = event.variant; return Status::ok();
    case EventKind::kChecked: {
      round->current.clear();
      if (event.check.failure == Failure::kNone || open == round->open.end()) return Status::ok();
      StoredCell cell = make_cell(*round, *open);
      cell.failure = event.check.failure;
      cell.message = event.check.message;
      cell.seconds = event.check.seconds;
      round->open.erase(open);
      return done({cell});
    }
    case EventKind::kTimed: {
      round->current.clear();
      if (open == round->open.end()) return Status::ok();  // "copy" and "twin"
      StoredCell cell = make_cell(*round, *open);
      cell.median_us = event.timing.median_us;
      cell.mad_us = event.timing.mad_us;
      cell.min_us = event.timing.min_us;
      cell.samples = event.timing.samples;
      cell.bytes = event.timing.bytes;
      round->timed[event.variant] = std::move(cell);
      return Status::ok();
    }
    case EventKind::kDone: {
      *finished = true;
      std::vector<StoredCell> cells;
      for (auto& [id, cell] : round->timed) {
        cell.clock_mhz = event.summary.clock_mhz;
        cell.throttled = event.summary.throttled;
        cell.seconds = round->seconds() / static_cast<double>(round->timed.size());
        std::erase_if(round->open, [&](const StoredVariant& v) { return v.config == cell.config; });
        cells.push_back(cell);
      }
      for (const StoredVariant& variant : round->open) {
        cells.push_back(make_cell(*round, variant));
        cells.back().failure = Failure::kLaunch;
        cells.back().message = "the worker gave neither a time nor a reason";
      }
      round->open.clear();
      return done(cells);
    }
    case EventKind::kError: {
      // The request as a whole failed, such as inputs that do not fit into memory: no variant can be timed here.
      *finished = true;
      std::vector<StoredCell> cells;
      for (const StoredVariant& variant : round->open) {
        cells.push_back(make_cell(*round, variant));
        cells.back().failure = Failure::kLaunch;
        cells.back().message = event.error.to_string();
      }
      round->open.clear();
      return done(cells);
    }
    default: return {Code::kInternal, "the measuring worker sent an event that answers nothing"};
  }
}

Status DeviceProfiler::run_round(Round* round, const Done& done) {
  KAON_RETURN_IF_ERROR(ensure_ready());
  KAON_RETURN_IF_ERROR(load_variants(round, done));
  if (round->open.empty()) return Status::ok();
  Request request;
  request.kind = RequestKind::kMeasure;
  request.measure.kernel = kernel_.id;
  request.measure.options = options_.measure;
  request.measure.options.check =
      options_.measure.check && round->pass == 0;  // later passes time what is known to be right
  for (size_t d = 0; d < kernel_.dims.size(); ++d) request.measure.shape.dims[kernel_.dims[d]] = round->shape[d];
  request.measure.shape.scalars = kernel_.scalars;
  for (const DataRule& rule : kernel_.data) request.measure.options.recipes[rule.tensor()] = rule.at(round->shape);
  for (const StoredVariant& variant : round->open) request.measure.variants.push_back(variant_id(variant));
  KAON_RETURN_IF_ERROR(ask(&request));
  for (bool finished = false; !finished;) {
    KAON_ASSIGN_OR_RETURN(const Event event, next_event(options_.event_seconds));
    if (event.request != number_) continue;
    KAON_RETURN_IF_ERROR(take_event(round, event, done, &finished));
  }
  return Status::ok();
}

Status DeviceProfiler::blame(Round* round, const Status& cause, const Done& done) {
  const std::string words = child_.last_words();
  const std::string how = child_.kill();
  round->timed.clear();
  const auto guilty = std::find_if(round->open.begin(), round->open.end(),
                                   [&](const StoredVariant& v) { return variant_id(v) == round->current; });
  round->current.clear();
  if (guilty == round->open.end()) {
    if (++round->blameless < kMaxBlamelessDeaths) return Status::ok();
    return {cause.code(), fmt::format("the measuring worker failed twice at {} without a variant to blame: {}; {}; {}",
                                      shape_text(round->shape), cause.message(), how, words)};
  }
  StoredCell cell = make_cell(*round, *guilty);
  cell.failure = cause.code() == Code::kTimeout ? Failure::kTimeout : Failure::kCrash;
  cell.message =
      cause.code() == Code::kTimeout ? cause.message() : fmt::format("{}{}{}", how, words.empty() ? "" : "; ", words);
  cell.seconds = round->seconds();
  round->open.erase(guilty);
  return done({cell});
}

Status DeviceProfiler::measure(const Shape& shape, int pass, const std::vector<StoredVariant>& variants,
                               const Done& done) {
  Round round;
  round.shape = shape;
  round.pass = pass;
  round.open = variants;
  while (!round.open.empty()) {
    round.start = std::chrono::steady_clock::now();
    Status storing = Status::ok();
    const Done guarded = [&](const std::vector<StoredCell>& cells) { return storing = done(cells); };
    const Status status = run_round(&round, guarded);
    if (status.is_ok()) continue;
    const bool worker_died = status.code() == Code::kTimeout || status.code() == Code::kIo;
    if (is_interrupt(status)) {
      child_.kill();
      return status;
    }
    if (!storing.is_ok() || !worker_died) return status;
    KAON_RETURN_IF_ERROR(blame(&round, status, done));
  }
  return Status::ok();
}

}  // namespace kaon::runner
