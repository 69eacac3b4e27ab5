// Compiles many configs at once in worker processes, so that a crash of the compiler costs one config.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aot_runner/compile/messages.h"
#include "aot_runner/tune/child.h"
#include "aot_runner/tune/services.h"

namespace kaon::runner {

struct PoolOptions {
  int jobs = 0;                      // worker processes; 0: one per core
  double config_timeout_s = 150;     // a config that takes longer is rejected as kTimeout
  std::vector<std::string> command;  // argv of a worker; empty: this program's own `compile-worker`
};

class CompilePool final : public CompileService {
 public:
  CompilePool(CompileJob job, PoolOptions options);
  ~CompilePool() override;
  Status compile(const std::vector<Config>& configs, const std::function<Status(CompileOutcome)>& done) override;
  int jobs() const { return options_.jobs; }

 private:
  struct Worker;
  Status start(Worker* worker);
  Status give(Worker* worker, const Config& config);
  Status take(Worker* worker, const std::function<Status(CompileOutcome)>& done, bool* answered);
  void wait_for_any() const;

  CompileJob job_;
  PoolOptions options_;
  std::vector<std::unique_ptr<Worker>> workers_;
};

/// Body of `aot_runner compile-worker`: answers on stdout until stdin ends. Returns the exit code.
int run_compile_worker();

}  // namespace kaon::runner
