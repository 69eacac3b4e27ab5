// The matrix of one kernel and dtype binding: fills cells that a search asks for, from the store where they are known
// and by compiling and measuring where they are not.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "aot_runner/report/progress.h"
#include "aot_runner/search/strategy.h"
#include "aot_runner/spec/shapes_file.h"
#include "aot_runner/store/store.h"
#include "aot_runner/tune/compile_thread.h"
#include "aot_runner/tune/services.h"
#include "runtime/base/signature.h"
#include "runtime/base/variant.h"

namespace kaon::runner {

struct SweepSetup {
  Store* store = nullptr;
  int64_t compile_context = 0;
  int64_t measure_context = 0;
  Signature signature;
  std::vector<int64_t> scalar_bits;    // one per signature.scalars, as in slots
  CompileService* compiler = nullptr;  // null: only what the store holds may be used
  MeasureService* profiler = nullptr;  // null: likewise
  Progress* progress = nullptr;
  int cells_per_request = 32;      // variants that are interleaved with each other at most
  bool compile_meanwhile = false;  // the device measures while configs compile: only if that does not disturb its times
};

/// What came from where, for the summary.
struct SweepCounts {
  int compiled = 0, rejected = 0, reused_variants = 0;
  int measured = 0, failed = 0, reused_cells = 0;
};

class Sweep {
 public:
  explicit Sweep(SweepSetup setup) : setup_(std::move(setup)) {}

  /// Reads what the store knows. Call once before the rest.
  Status load();
  /// Runs a search to its end: `shapes` is the Problem's set. Each batch is in the store before the strategy hears of
  /// it.
  Status run_search(Strategy* strategy, const std::vector<WeightedShape>& shapes);
  /// Makes sure that every config has a cell on every shape in that pass where it is wanted, unless a guard refuses.
  Status fill(const std::vector<Config>& configs, const std::vector<WeightedShape>& shapes, int pass,
              const std::function<bool(const Config&, const Shape&)>& is_wanted);
  /// Compiles what is not compiled; rejections are kept as such.
  Status compile_all(const std::vector<Config>& configs);

  /// Null when never compiled.
  const StoredVariant* variant(const Config& config) const;
  /// Null when never measured.
  const StoredCell* cell(const Config& config, const Shape& shape, int pass) const;
  /// True when the config compiled and its guards accept the shape.
  bool serves(const Config& config, const Shape& shape) const;
  const VariantInfo* info(const Config& config) const;
  const SweepCounts& counts() const { return counts_; }
  const std::map<Config, StoredVariant>& variants() const { return variants_; }
  /// The row of slots of a call with contiguous, aligned tensors.
  std::vector<int64_t> slots(const Shape& shape) const;

 private:
  struct CellKey {
    Config config;
    std::string shape;
    int pass;
    bool operator<(const CellKey& other) const;
  };

  Outcome outcome(const Config& config, const Shape& shape, int pass) const;
  Status remember(const StoredVariant& variant);
  Status measure_shape(const Shape& shape, int pass, const std::vector<Config>& configs);
  Status missing(const char* what) const;
  /// Those of `configs` that are yet to be compiled, each once.
  std::vector<Config> not_compiled(const std::vector<Config>& configs);
  Status keep(CompileOutcome outcome);
  Status begin_compiling(const std::vector<Config>& configs);
  /// Until every one of `configs` is known, or, if there are none, until the batch has ended.
  Status finish_compiling(const std::vector<Config>& configs);

  SweepSetup setup_;
  std::map<Config, StoredVariant> variants_;
  std::map<Config, VariantInfo> infos_;
  std::map<CellKey, StoredCell> cells_;
  SweepCounts counts_;
  std::map<Config, bool> charged_;  // configs whose compile time the running search has been told
  std::unique_ptr<CompileThread> thread_;
  bool is_compiling_ = false;  // the thread has a batch
};

}  // namespace kaon::runner
