// A worker's side of the protocol: keeps kernels and variants, answers requests with events.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aot_runner/measure/call.h"
#include "aot_runner/measure/check.h"
#include "aot_runner/measure/device.h"
#include "aot_runner/measure/oracle_cache.h"
#include "aot_runner/measure/protocol.h"
#include "compiler/ir/ir.h"

namespace kaon::runner {

class Session {
 public:
  using Sink = std::function<void(const Event&)>;

  /// `sink` is called with each event as it happens. Says hello.
  Session(std::unique_ptr<Device> device, Sink sink);

  enum class Next : uint8_t { kGoOn, kQuit, kDeviceLost };
  /// Answers one request. After kDeviceLost this process can measure no more.
  Next handle(const Request& request);

 private:
  struct Variant {
    std::string kernel;
    VariantInfo info;
    std::string image_path;
    std::string image;
    std::unique_ptr<LoadedKernel> loaded;  // on first use
  };
  /// One variant of a measure request on its way through guards, check and timing.
  struct Candidate {
    std::string id;
    Variant* variant = nullptr;
    Launch launch;
    std::unique_ptr<Replay> replay;
  };

  Status add_kernel(const KernelRequest& request);
  Status add_variant(const VariantRequest& request);
  Status measure(const MeasureRequest& request);
  Status admit(const MeasureRequest& request, const compiler::Kernel& kernel, std::vector<Candidate>* candidates);
  Status check(const MeasureRequest& request, const compiler::Kernel& kernel, std::vector<Candidate>* candidates,
               MeasureSummary* summary);
  Status time(const MeasureRequest& request, std::vector<Candidate>* candidates, MeasureSummary* summary);
  Status load(Variant& variant);
  Launch make_launch(const Variant& variant) const;

  void emit(Event event);
  void emit_checked(const std::string& variant, CheckOutcome outcome);
  void emit_begin(const std::string& variant, const char* phase);

  std::unique_ptr<Device> device_;
  Sink sink_;
  uint64_t request_ = 0;
  std::map<std::string, std::unique_ptr<compiler::Kernel>> kernels_;
  std::map<std::string, Variant> variants_;
  Call call_;
  OracleCache oracle_cache_;
  double empty_us_ = -1;  // measured once
};

/// The worker program's loop: reads requests from `input` (a file descriptor) line by line and writes events to
/// `output` until the end of the input, quit, or a lost device. Returns the exit status: 0, 3 (no device) or 4 (lost).
int serve(const std::string& device_name, int input, int output);

}  // namespace kaon::runner
