// Compiling while the device measures: one thread that waits for the compilers, so that another can wait for the
// device.
#pragma once

#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "aot_runner/tune/services.h"

namespace kaon::runner {

/// One batch at a time. The service is called on the thread, which lives as long as this does: worker processes die
/// with the thread that started them.
class CompileThread {
 public:
  explicit CompileThread(CompileService* service);
  CompileThread(const CompileThread&) = delete;
  CompileThread& operator=(const CompileThread&) = delete;
  /// Gives up what is still being compiled.
  ~CompileThread();

  /// Begins a batch; the one before must have ended.
  void begin(std::vector<Config> configs);
  /// Waits for outcomes of the batch and returns all there are; none once it has ended. Errors are the service's.
  Result<std::vector<CompileOutcome>> wait();

 private:
  void run();

  CompileService* const service_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Config> configs_;           // to begin with
  std::vector<CompileOutcome> outcomes_;  // not fetched yet
  Status status_ = Status::ok();          // of the batch
  bool is_running_ = false;               // a batch was begun and has not ended
  bool must_stop_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace kaon::runner
