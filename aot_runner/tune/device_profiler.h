// Measures through a worker process that may die: starts it, feeds it, restarts it, and turns a crash or a hang into
// the failure of the one variant to blame.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "aot_runner/measure/protocol.h"
#include "aot_runner/spec/data_rule.h"
#include "aot_runner/store/store.h"
#include "aot_runner/tune/child.h"
#include "aot_runner/tune/services.h"

namespace kaon::runner {

struct ProfilerOptions {
  std::vector<std::string> command;  // argv of the worker
  MeasureOptions measure;
  double start_seconds = 60;   // until the worker says hello
  double event_seconds = 120;  // between two events of a request
};

/// What the worker must know of the kernel whose variants are measured.
struct ProfiledKernel {
  std::string id;
  std::string logical_ir;
  std::vector<std::string> dims;
  std::map<std::string, double> scalars;
  std::vector<DataRule> data;
};

class DeviceProfiler final : public MeasureService {
 public:
  /// `store` gives images by hash; it must outlive the profiler.
  DeviceProfiler(ProfilerOptions options, Store* store) : options_(std::move(options)), store_(store) {}

  /// Starts the worker and returns what it found. kNoDevice as the worker says it.
  Result<MachineFacts> connect();
  void set_kernel(ProfiledKernel kernel);
  Result<Calibration> calibrate();
  Status measure(const Shape& shape, int pass, const std::vector<StoredVariant>& variants,
                 const std::function<Status(const std::vector<StoredCell>&)>& done) override;
  int restarts() const { return restarts_; }

 private:
  using Done = std::function<Status(const std::vector<StoredCell>&)>;
  struct Round;

  Status ensure_ready();
  Status ask(Request* request);
  Result<Event> next_event(double seconds);
  Status load_variants(Round* round, const Done& done);
  Status run_round(Round* round, const Done& done);
  Status take_event(Round* round, const Event& event, const Done& done, bool* finished);
  Status blame(Round* round, const Status& cause, const Done& done);
  std::string variant_id(const StoredVariant& variant) const;
  StoredCell make_cell(const Round& round, const StoredVariant& variant) const;

  ProfilerOptions options_;
  Store* store_;
  Child child_;
  MachineFacts facts_;
  ProfiledKernel kernel_;
  std::set<std::string> sent_kernels_;
  std::set<std::string> sent_variants_;
  uint64_t number_ = 0;
  int restarts_ = 0;
  bool was_connected_ = false;
};

}  // namespace kaon::runner
