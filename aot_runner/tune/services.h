// The two hands of the tuner, as interfaces: what compiles a config, and what measures compiled configs on a shape.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "aot_runner/spec/shape.h"
#include "aot_runner/store/store.h"

namespace kaon::runner {

struct CompileOutcome {
  StoredVariant variant;  // a rejected config is an outcome, not an error
  std::string image;
};

class CompileService {
 public:
  virtual ~CompileService() = default;
  /// Compiles every config and calls `done` for each, on this thread, in order of completion. Returns early with
  /// done's error, with interrupt_status() after Ctrl-C, or when no worker can be started.
  virtual Status compile(const std::vector<Config>& configs, const std::function<Status(CompileOutcome)>& done) = 0;
};

class MeasureService {
 public:
  virtual ~MeasureService() = default;
  /// Measures the variants on one shape in one pass, interleaved. `done` gets cells in one or several groups, as they
  /// become final; every variant is answered exactly once, a crash or a hang as the cell of the variant to blame.
  /// Errors are those of the device or the worker as a whole.
  virtual Status measure(const Shape& shape, int pass, const std::vector<StoredVariant>& variants,
                         const std::function<Status(const std::vector<StoredCell>&)>& done) = 0;
};

/// True once the user pressed Ctrl-C (or a parent asked to stop).
bool interrupted();
/// Installs the handlers of SIGINT and SIGTERM; a second signal ends the program at once.
void install_interrupt_handlers();
/// What every phase returns when it stops for an interrupt.
Status interrupt_status();
bool is_interrupt(const Status& status);

}  // namespace kaon::runner
