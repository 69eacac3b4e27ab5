#include "aot_runner/compile/pool.h"

#include <fmt/format.h>
#include <poll.h>

#include <chrono>
#include <thread>

namespace kaon::runner {
namespace {

constexpr double kStartSeconds = 60;
using Clock = std::chrono::steady_clock;

}  // namespace

struct CompilePool::Worker {
  Child child;
  bool is_busy = false;
  Config config;
  Clock::time_point since;
  double seconds() const { return std::chrono::duration<double>(Clock::now() - since).count(); }
};

CompilePool::CompilePool(CompileJob job, PoolOptions options) : job_(std::move(job)), options_(std::move(options)) {
  if (options_.jobs <= 0) options_.jobs = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  if (options_.command.empty()) options_.command = {own_executable(), "compile-worker"};
}

CompilePool::~CompilePool() = default;

Status CompilePool::start(Worker* worker) {
  KAON_RETURN_IF_ERROR(worker->child.start(options_.command));
  KAON_RETURN_IF_ERROR(worker->child.send(encode_job(job_)));
  Result<std::string> line = worker->child.receive(kStartSeconds);
  if (!line.is_ok()) {
    if (is_interrupt(line.status())) return line.status();
    const std::string words = worker->child.last_words();
    return {Code::kInternal, fmt::format("a compile worker did not start: {}; {}", line.status().message(), words)};
  }
  return decode_ready(*line);
}

Status CompilePool::give(Worker* worker, const Config& config) {
  worker->config = config;
  worker->is_busy = true;
  worker->since = Clock::now();
  if (!worker->child.is_running()) KAON_RETURN_IF_ERROR(start(worker));
  return worker->child.send(encode_config(config));
}

Status CompilePool::take(Worker* worker, const std::function<Status(CompileOutcome)>& done, bool* answered) {
  const bool open = worker->child.pump();
  CompileOutcome outcome;
  if (worker->child.has_line()) {
    KAON_ASSIGN_OR_RETURN(const std::string line, worker->child.receive(0));
    KAON_ASSIGN_OR_RETURN(outcome, decode_outcome(line));
    // A missing tool fails every config alike: that is the run's error, not a reason to reject this one.
    if (outcome.variant.code == Code::kUnsupported) return {outcome.variant.code, outcome.variant.message};
  } else if (!open) {
    const std::string words = worker->child.last_words();
    const std::string how = worker->child.kill();
    outcome.variant.code = Code::kInternal;
    outcome.variant.message = fmt::format("the compiler crashed: {}{}{}", how, words.empty() ? "" : "; ", words);
    outcome.variant.seconds = worker->seconds();
  } else if (worker->seconds() > options_.config_timeout_s) {
    worker->child.kill();
    outcome.variant.code = Code::kTimeout;
    outcome.variant.message = fmt::format("compiling took longer than {:.0f} s", options_.config_timeout_s);
    outcome.variant.seconds = worker->seconds();
  } else {
    return Status::ok();
  }
  worker->is_busy = false;
  *answered = true;
  outcome.variant.config = worker->config;
  outcome.variant.seconds /= options_.jobs;  // others compile meanwhile: the budget counts elapsed time
  return done(std::move(outcome));
}

void CompilePool::wait_for_any() const {
  std::vector<pollfd> fds;
  for (const auto& worker : workers_) {
    if (worker->is_busy) fds.push_back({worker->child.output(), POLLIN, 0});
  }
  ::poll(fds.data(), fds.size(), 250);
}

Status CompilePool::compile(const std::vector<Config>& configs, const std::function<Status(CompileOutcome)>& done) {
  while (workers_.size() < std::min(configs.size(), static_cast<size_t>(options_.jobs))) {
    workers_.push_back(std::make_unique<Worker>());
  }
  size_t next = 0;
  size_t finished = 0;
  const auto run = [&]() -> Status {
    while (finished < configs.size()) {
      if (interrupted()) return interrupt_status();
      for (const auto& worker : workers_) {
        if (!worker->is_busy && next < configs.size()) KAON_RETURN_IF_ERROR(give(worker.get(), configs[next++]));
      }
      wait_for_any();
      for (const auto& worker : workers_) {
        bool answered = false;
        if (worker->is_busy) KAON_RETURN_IF_ERROR(take(worker.get(), done, &answered));
        finished += answered ? 1 : 0;
      }
    }
    return Status::ok();
  };
  Status status = run();
  // Whoever is still at work answers a question that nobody asks any more.
  for (const auto& worker : workers_) {
    if (worker->is_busy) worker->child.kill();
    worker->is_busy = false;
  }
  return status;
}

}  // namespace kaon::runner
