#include "aot_runner/tune/compile_thread.h"

#include <utility>

namespace kaon::runner {

CompileThread::CompileThread(CompileService* service) : service_(service), thread_([this] { run(); }) {}

CompileThread::~CompileThread() {
  {
    const std::lock_guard lock(mutex_);
    must_stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void CompileThread::begin(std::vector<Config> configs) {
  {
    const std::lock_guard lock(mutex_);
    configs_ = std::move(configs);
    status_ = Status::ok();
    is_running_ = true;
  }
  changed_.notify_all();
}

Result<std::vector<CompileOutcome>> CompileThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !outcomes_.empty() || !is_running_; });
  // What was compiled before an error is as good as any other.
  if (outcomes_.empty() && !status_.is_ok()) return status_;
  return std::exchange(outcomes_, {});
}

void CompileThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return must_stop_ || is_running_; });
    if (must_stop_) return;
    const std::vector<Config> configs = std::exchange(configs_, {});
    lock.unlock();
    Status status = service_->compile(configs, [&](CompileOutcome outcome) {
      const std::lock_guard guard(mutex_);
      if (must_stop_) return Status(Code::kInternal, "nobody waits for what is compiled");
      outcomes_.push_back(std::move(outcome));
      changed_.notify_all();
      return Status::ok();
    });
    lock.lock();
    status_ = std::move(status);
    is_running_ = false;
    changed_.notify_all();
  }
}

}  // namespace kaon::runner
