// What a shapes file asks for: which calls of a kernel to tune for, to measure and to hold out.
//
// Format (JSON, every set is a list of entries; aot_runner/README.md has the whole of it):
//   {"kernel": "softmax", "dtypes": ["f16", "f32"],
//    "train":    [{"M": 4096, "N": {"from": 256, "to": 12672, "step": 128}}, {"M": [1, 16], "N": 1024, "weight": 2}],
//    "measure":  [[4096, 127]],
//    "held_out": [{"sample": 40, "seed": 7, "M": {"from": 1, "to": 32768, "log": true}, "N": 1024}],
//    "weights":  [{"M": {"to": 64}, "weight": 4}],
//    "limits":   {"M*N": 268435456}, "derived": {"MN": "M*N"}, "ignore": ["B"],
//    "data":     {"labels": "range(0, N)"}}
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "aot_runner/spec/data_rule.h"
#include "aot_runner/spec/shape.h"
#include "runtime/base/expr.h"
#include "runtime/base/status.h"

namespace kaon::runner {

struct DerivedFeature {
  std::string name;
  std::string text;  // as written
  Expr value;        // slot i is dim i
};

/// A shapes file, expanded: deterministic, without duplicates; no held-out shape is also in train or measure.
struct ShapesSpec {
  std::string kernel;                      // empty when the file does not say
  std::vector<std::string> dtypes;         // "f16" or "f16,f32" for two generics; empty: all that the kernel allows
  std::vector<std::string> dims;           // the kernel's dims; the order of every Shape
  std::vector<WeightedShape> train;        // what the search looks at
  std::vector<WeightedShape> measure;      // on which the final variants are measured besides
  std::vector<WeightedShape> held_out;     // never seen before the evaluation
  std::vector<DerivedFeature> derived;
  std::vector<std::string> ignored;        // dims that the tree must not look at
  std::map<std::string, double> scalars;   // values of scalar parameters by name
  std::map<std::string, int64_t> constants;  // values of constexpr parameters by name
  std::vector<DataRule> data;                // what inputs hold, where that matters
  std::vector<std::string> notes;          // what was left out or withheld, for people
};

/// Parses and expands `text`; `name` is used in messages. kInvalidArgument with the JSON path, what is wrong and the mend.
/// When the file has no "held_out", every sixth train shape is withheld if there are at least twelve.
Result<ShapesSpec> parse_shapes(std::string_view text, const std::string& name, const std::vector<std::string>& dims);

/// The "kernel" of a shapes file before the kernel's dims are known; empty when it does not say.
Result<std::string> peek_kernel(std::string_view text, const std::string& name);

/// The spec that recorded calls amount to: weights are counts, every sixth shape (by count) is held out.
struct RecordedShapes {
  std::string kernel;
  std::vector<std::string> dtypes;    // distinct, sorted
  std::vector<WeightedShape> shapes;  // most frequent first
};
ShapesSpec spec_from_recording(const RecordedShapes& recorded, const std::vector<std::string>& dims);

/// Canonical JSON of the expanded spec (sets as lists of [dims..., weight]); equal specs have equal text.
std::string spec_to_json(const ShapesSpec& spec);

}  // namespace kaon::runner
