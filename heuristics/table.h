// The measurement table: what was timed, on which shapes, with which configs, and what failed.
//
// One Measurements is one kernel on one kind of device: a table per binding of the dtypes, each a matrix of
// (config, shape) cells. It is committed beside the generated sources, and everything else here is a pure function
// of it. Times are integers of nanoseconds, so that a text written and read back is the same table.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/base/signature.h"
#include "runtime/base/status.h"
#include "runtime/base/variant.h"

namespace kaon::heuristics {

/// What a shape is for. `kTrain` and `kMeasure` shapes are fitted (the search proposes configs on the former only);
/// `kHeldOut` shapes are never seen by the fit and serve to judge it.
enum class Role : uint8_t { kTrain, kMeasure, kHeldOut };
/// "train", "measure", "held_out".
const char* role_name(Role role);
bool parse_role(std::string_view name, Role* out);

struct Shape {
  std::vector<int64_t> slots;  // the call's whole row (runtime/base/signature.h); a pointer's slot holds its
                               // address modulo 256, 0 for aligned storage
  double weight = 1;           // relative importance, > 0: 1, or how often traffic had it
  Role role = Role::kTrain;
};

enum class FailureKind : uint8_t { kCompile, kWrongResult, kTimeout, kFault, kResources, kOther };
/// "compile", "wrong_result", "timeout", "fault", "resources", "other".
const char* failure_name(FailureKind kind);
bool parse_failure(std::string_view name, FailureKind* out);

struct Failure {
  FailureKind kind = FailureKind::kOther;
  std::string message;
  friend bool operator==(const Failure&, const Failure&) = default;
};

/// One config on one shape in one pass. Exactly one of: measured (median_ns > 0), failed (failure >= 0), absent.
/// A cell whose guards refuse the shape is absent: guards and slots say so.
struct Cell {
  int64_t median_ns = 0;
  int32_t mad_permille = 0;  // median absolute deviation over median, in thousandths
  int32_t samples = 0;       // timings behind the median
  int32_t failure = -1;      // index into Table::failures

  bool measured() const { return median_ns > 0; }
  bool failed() const { return failure >= 0; }
  friend bool operator==(const Cell&, const Cell&) = default;
};

struct ConfigRow {
  VariantInfo variant;
  Resources resources;
};

/// The table of one dtype binding and, of a kernel that is specialised on dimensions, one value of each.
/// `passes[p][config * shapes.size() + shape]`. Pass 0 is what is fitted; later passes only judge (choices are timed on
/// the last one that has them), except that a failure in any pass is a failure. So re-measuring after distilling
/// changes no tree. A config that ships should be measured on every fitted shape: where it was not, it is taken to be
/// slow.
struct Table {
  Signature signature;
  std::vector<Shape> shapes;
  std::vector<ConfigRow> configs;
  int generic_config = 0;  // every leaf ends in it; its guards are the values of specialised dimensions, else none
  int default_config = 0;  // what one would get without tuning
  std::vector<Failure> failures;
  std::vector<std::vector<Cell>> passes;

  /// "f16", or "" for a kernel without generics.
  std::string dtype_key() const { return signature.dtype_key(); }
  /// Slots of the specialised dimensions with what they are here, in order of slots; every config and shape has these.
  std::vector<std::pair<int, int64_t>> specialised_values() const;
  /// dtype_key() and those values: "f16 N=128". No two tables of a kernel have the same.
  std::string key() const;
  int num_shapes() const { return static_cast<int>(shapes.size()); }
  int num_configs() const { return static_cast<int>(configs.size()); }
  int num_passes() const { return static_cast<int>(passes.size()); }
  const Cell& cell(int pass, int config, int shape) const {
    return passes[pass][static_cast<size_t>(config) * shapes.size() + shape];
  }
  Cell& cell(int pass, int config, int shape) {
    return passes[pass][static_cast<size_t>(config) * shapes.size() + shape];
  }
  /// Index of an equal failure, added if there is none.
  int add_failure(FailureKind kind, const std::string& message);
  /// Appends a pass of absent cells and returns its index; shapes and configs must be complete by then.
  int add_pass();
};

/// What the heuristics know of the device. 0 or empty means unknown.
struct DeviceFacts {
  std::string name;      // "NVIDIA H200", or the CPU's model for host
  std::string hardware;  // suffix of file names: "sm90", "host"
  std::string driver;
  int32_t sm_count = 0;  // 1 per worker thread on host
  int32_t max_threads_per_sm = 0;
  int32_t registers_per_sm = 0;
  int64_t shared_bytes_per_sm = 0;
  int64_t shared_bytes_per_block = 0;
  int64_t l2_bytes = 0;
  int32_t sm_clock_mhz = 0;      // while measuring
  int32_t memory_clock_mhz = 0;  // while measuring
};

/// What the measured binaries were made from.
struct Origin {
  std::string source_hash;  // of the .tile, hexadecimal
  std::string compiler;     // "kaonc 0.1.0, LLVM 19.1.7"
  std::string ptxas;        // "13.0.88", empty on host
  std::string date;         // of the measurement, "2026-12-01"
  std::string method;       // "cold L2, CUDA graph, interleaved"
};

struct Measurements {
  std::string kernel;
  DeviceFacts device;
  Origin origin;
  // Two times tie when they differ by no more than the larger of both:
  int32_t noise_floor_permille = 0;           // a share, from kernels that run long
  int64_t noise_floor_ns = 0;                 // timer ticks and launch jitter, from kernels of a few microseconds
  int64_t empty_graph_ns = 0;                 // inside every time above
  double seconds = 0;                         // what the tuning run took, for the report
  std::vector<std::string> derived_features;  // from the shapes file: "M*N", "ceil_div(N, 64)"
  std::vector<std::string> ignored_dims;      // from the shapes file: select() does not look at them
  std::vector<Table> tables;                  // one per dtype binding and specialisation, in order of declaration
};

/// "M=4096 N=1024": dims and integer scalars of a row.
std::string shape_text(const Signature& signature, const std::vector<int64_t>& slots);
/// A row with every pointer aligned (0), strides as of contiguous row-major tensors, floating scalars 0.
/// `dims` and `scalars` in order of declaration.
std::vector<int64_t> contiguous_slots(const Signature& signature, const std::vector<int64_t>& dims,
                                      const std::vector<int64_t>& scalars);

/// kInvalidArgument with the first thing wrong: sizes that disagree, indices out of range, a weight that is not
/// positive and finite, a cell that is both measured and failed, a duplicate shape or config, a generic config with
/// guards, derived features that do not parse.
Status validate(const Measurements& measurements);

/// The committed text: canonical, one matrix row per line, ending in a newline. The same table gives the same bytes.
std::string write_measurements(const Measurements& measurements);
/// Reads what write_measurements() wrote and validates it. kInvalidArgument with "<name>:<line>:" or the JSON path of
/// what is wrong, expected and got. `name` is the file's name for messages.
Result<Measurements> read_measurements(std::string_view text, const std::string& name);

}  // namespace kaon::heuristics
