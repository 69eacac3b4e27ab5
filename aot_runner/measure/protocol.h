// What the tuner and a measuring worker say to each other: one JSON object per line, requests on the worker's stdin,
// events on its stdout.
//
// A worker is `aot_measure --device cuda:0` (or host). It prints one `hello` event when it is ready (or one `error`
// event and exits with status 3 when the device does not exist), then answers each request in order. Every event
// carries the `request` number that it answers, and is written unbuffered.
//
//   parent                                worker
//                                         hello {device facts}
//   kernel {id, logical IR}               ok | error
//   variant {id, kernel, info, image}     ok | error
//   measure {kernel, shape, variants..}   per variant: begin check, checked
//                                         per variant that was correct: begin time; then for all of them: timed
//                                         done | error
//   calibrate {}                          calibrated | error
//   drop {variants}                       ok
//   quit {}                               (exits with status 0; end of input does the same)
//
// When a worker dies or hangs after a `begin check` that no `checked` followed, that variant is to blame: the parent
// records it as kCrash or kTimeout. A variant may be `checked` a second time in one request, from correct to wrong,
// when a later variant's different output made the oracle look again. After a `begin time` any of the variants being
// timed may be, since they take turns: the parent measures them again one by one. A GPU fault spoils the whole process:
// the worker reports the variant as kCrash where it knows it, then an `error`, and exits with status 4.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/base/variant.h"

namespace kaon::runner {

constexpr int kProtocolVersion = 1;

/// Why a variant has no time for a shape. Names (failure_name) are stable: they are stored.
enum class Failure : uint8_t {
  kNone,
  kGuard,          // a guard refuses this shape: expected, not a defect
  kLaunch,         // the image does not load, the entry is missing, or the driver refuses the launch
  kWrongResult,    // outside the oracle's bound, or different from the first trusted variant
  kRedZone,        // wrote outside an output or input buffer
  kInputModified,  // wrote into an input that is not declared as aliased
  kNotWritten,     // left an element of an output unwritten
  kMachine,        // the checking machine refused the run: race, divergent barrier, uninitialised read, trap
  kTimeout,        // assigned by the parent: no event within its limit
  kCrash,          // assigned by the parent: the worker died. By the worker: the GPU faulted and the worker ends
};
/// "none", "guard", "wrong_result", ...; never null.
const char* failure_name(Failure failure);
/// False when no failure has that name.
bool parse_failure(std::string_view name, Failure* out);

/// Facts of the device that a worker measures on. Zero or empty means unknown.
struct MachineFacts {
  std::string name;      // "NVIDIA H200", or the CPU's model
  std::string hardware;  // "sm90", "host": which table these measurements belong to
  std::string target;    // compiler target to make images for: "sm_90", "host"
  std::string driver;    // "580.159" where known, else the driver API version "13.0"; on host the kernel release
  int sm_count = 0;      // host: OS threads used
  int64_t memory_bytes = 0;
  int64_t l2_bytes = 0;
  int64_t max_shared_bytes = 0;  // opt-in, per block
  int clock_mhz = 0;             // highest SM clock
  int memory_clock_mhz = 0;
};

/// How the elements of an input are drawn. kDefault: kNormal for floats, kUniform in [-100, 100] (unsigned: [0, 100])
/// for integers, fair bits for bool. Those from kSorted on are for integers alone: ids that ascend, and where each of a
/// tensor's rows begins among all their elements (ordered_data.h).
enum class RecipeKind : uint8_t {
  kDefault,
  kNormal,
  kUniform,
  kConstant,
  kSorted,
  kEvenOffsets,     // rows of equal length
  kUniformOffsets,  // of any length up to about twice the mean
  kPowerOffsets,    // few long ones: the i-th longest is 1/i of the longest
  kGiantOffsets,    // one as long as all others together
  kHalfOffsets,     // every other one is empty
};
struct Recipe {
  RecipeKind kind = RecipeKind::kDefault;
  double low = 0;  // kNormal: mean. kUniform, kSorted: lowest value. kConstant: the value
  double high =
      1;  // kNormal: standard deviation. kUniform, kSorted: highest value, inclusive for integers. Offsets: the last
  friend bool operator==(const Recipe&, const Recipe&) = default;
};

/// One call: values of the symbolic dims and of the scalar parameters, by name. Tensors are row-major.
struct ShapeSpec {
  std::map<std::string, int64_t> dims;
  std::map<std::string, double> scalars;  // integers must be below 2^53
  int64_t base_offset = 0;                // elements by which every base pointer is moved off its 256-byte alignment
  bool in_place = false;                  // outputs that may be an input are that input
  friend bool operator==(const ShapeSpec&, const ShapeSpec&) = default;
};

struct MeasureOptions {
  uint64_t seed = 1;          // of the inputs and of the oracle's sample
  bool check = true;          // check each variant before it is timed
  bool time = true;           // false: only check
  bool copy = false;          // also time a copy kernel of the same bytes, reported as variant "copy"
  bool twin = false;          // also time the first correct variant a second time, reported as "twin": noise
  double target_mad = 0.005;  // stop when the median's error (from the MAD) over the median is below
  double max_seconds = 2.0;   // of timing per measure request; checks are not counted
  int first_samples = 3;      // of the first pass over all variants
  int min_samples = 5;        // of those that are refined
  int max_samples = 60;
  double refine_within = 1.5;             // variants slower than this times the best so far are not refined
  int oracle_programs = 16;               // most programs that the oracle interprets; small calls are interpreted whole
  std::map<std::string, Recipe> recipes;  // per input tensor
  friend bool operator==(const MeasureOptions&, const MeasureOptions&) = default;
};

struct KernelRequest {
  std::string id;          // chosen by the parent; unique per (source, dtypes)
  std::string logical_ir;  // text of the logical stage
};
struct VariantRequest {
  std::string id;      // chosen by the parent; unique in this worker
  std::string kernel;  // id of a KernelRequest sent before
  VariantInfo info;
  std::string image_path;  // file to read the image from, or
  std::string image;       // the bytes themselves (base64 on the wire); used when image_path is empty
};
struct MeasureRequest {
  std::string kernel;
  ShapeSpec shape;
  std::vector<std::string> variants;
  MeasureOptions options;
};
struct DropRequest {
  std::vector<std::string> variants;  // unknown ids are ignored
};

enum class RequestKind : uint8_t { kKernel, kVariant, kMeasure, kCalibrate, kDrop, kQuit };
/// Only the member that `kind` names has a meaning.
struct Request {
  RequestKind kind = RequestKind::kQuit;
  uint64_t number = 0;  // echoed by every event that answers
  KernelRequest kernel;
  VariantRequest variant;
  MeasureRequest measure;
  DropRequest drop;
};

/// What timing one variant gave.
struct Timing {
  double median_us = 0;
  double mad_us = 0;  // median absolute deviation of the samples
  double min_us = 0;
  int samples = 0;
  bool refined = false;  // false: the first pass was enough to see that it is far from the best
  double bytes = 0;      // lower bound of memory traffic of the call: every input read once, every output written once
};

struct CheckOutcome {
  Failure failure = Failure::kNone;
  std::string message;     // what was expected and got, with tensor and index; empty when correct
  int64_t compared = 0;    // elements compared with the oracle
  double worst_ratio = 0;  // largest error over its allowed bound, or more: of elements that equal a right variant's,
                           // the largest of those
  double seconds = 0;
};

/// End of one measure request.
struct MeasureSummary {
  double empty_us = 0;       // an empty graph by the same method (0 on host): inside every figure
  double seconds = 0;        // timing only
  double check_seconds = 0;  // inputs, oracle and comparisons
  int rounds = 0;
  bool throttled = false;  // the driver reported a clock limit during timing
  int clock_mhz = 0;       // SM clock after timing; 0 when unknown
};

/// Answer to calibrate: what this device can do and how well it can be measured.
struct Calibration {
  double empty_us = 0;
  struct CopyPoint {
    double bytes = 0;  // read + written
    double median_us = 0;
  };
  std::vector<CopyPoint> copy;
  double copy_gb_per_s = 0;  // best of the points
  // |a - b| / min(a, b) of two medians of the same kernel timed as two candidates in the same rounds.
  double noise_median = 0;
  double noise_p90 = 0;
  double noise_max = 0;
  // The same difference apart by size, each the 90th percentile: that of long kernels is a share of their time, that of
  // short ones a timer's tick and the jitter of a launch. Two times tie within the larger of both.
  double noise_relative = 0;     // over transfers of 16 MiB and more
  double noise_absolute_us = 0;  // over smaller ones
};

enum class EventKind : uint8_t { kHello, kOk, kError, kBegin, kChecked, kTimed, kDone, kCalibrated };
/// Only the members that `kind` names have a meaning.
struct Event {
  EventKind kind = EventKind::kOk;
  uint64_t request = 0;
  MachineFacts device;       // kHello
  Status error;             // kError; the request as a whole failed
  std::string variant;      // kBegin, kChecked, kTimed
  std::string phase;        // kBegin: "check" or "time"
  CheckOutcome check;       // kChecked; failure kGuard names the guard in the message
  Timing timing;            // kTimed
  MeasureSummary summary;   // kDone
  Calibration calibration;  // kCalibrated
};

/// One line of JSON without the newline. Doubles round-trip; keys are sorted.
std::string encode(const Request& request);
std::string encode(const Event& event);
/// kInvalidArgument naming the field that is missing or has the wrong type.
Result<Request> decode_request(std::string_view line);
Result<Event> decode_event(std::string_view line);

/// VariantInfo as JSON text (an object): what bundles and the store keep, and what `variant` carries.
std::string variant_to_json(const VariantInfo& info);
/// kInvalidArgument naming the field; expressions and slots are validated when the kernel is known (see Request).
Result<VariantInfo> variant_from_json(std::string_view json);

}  // namespace kaon::runner
