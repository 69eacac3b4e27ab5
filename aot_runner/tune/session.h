// Everything a run stands on, opened and checked before any work: kernel, shapes, device, tools, store.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "aot_runner/compile/pool.h"
#include "aot_runner/report/progress.h"
#include "aot_runner/spec/shapes_file.h"
#include "aot_runner/store/keys.h"
#include "aot_runner/store/store.h"
#include "aot_runner/tune/device_profiler.h"
#include "aot_runner/tune/files.h"
#include "aot_runner/tune/kernel_source.h"
#include "aot_runner/tune/options.h"
#include "compiler/target/target.h"
#include "heuristics/table.h"

namespace kaon::runner {

struct Session {
  TuneOptions options;
  Environment environment;
  EffortNumbers effort;
  std::unique_ptr<KernelSource> source;
  const compiler::KernelInfo* kernel = nullptr;
  ShapesSpec spec;
  std::vector<BoundKernel> bindings;
  std::unique_ptr<Store> store;
  FileLock lock;  // of the device in this store: two runs would disturb each other's times and cells
  std::unique_ptr<DeviceProfiler> profiler;
  MachineFacts device;
  compiler::Target target;
  std::string ptxas;  // path, empty for host
  std::string ptxas_version;
  Calibration calibration;
  MeasureOptions measure_options;
  StoredRun run;
  std::unique_ptr<Progress> progress;

  CompileKey compile_key(const BoundKernel& binding) const;
  MeasureKey measure_key(const BoundKernel& binding) const;
  /// The sets without the shapes of other specialisations than the binding's.
  ShapesSpec shapes_of(const BoundKernel& binding) const;
};

/// Reads kernel and shapes; needs no device. `program` is run under KAON_RECORD when there is one.
Status open_kernel(Session* session);
/// Device, tools, store and run record. kNoDevice, kUnsupported, kIo with the mend.
Status open_machine(Session* session);

/// The store and, as far as they are known from its results, the machine and tools of an earlier run: for what needs no
/// device. kUnsupported when further targets are asked for and another ptxas is here than the run's.
Status open_store(Session* session, const heuristics::Measurements& measurements);

/// Sixteen hex digits of a text, for keys.
std::string short_hash(const std::string& text);
/// "2026-12-01", of now.
std::string today();

}  // namespace kaon::runner
