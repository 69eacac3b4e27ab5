// One entry of a set in a shapes file, expanded into shapes: scalars, lists, ranges and seeded samples.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "aot_runner/spec/shape.h"
#include "runtime/base/status.h"

namespace kaon::runner {

constexpr int64_t kMaxDim = int64_t{1} << 40;   // a dim beyond this is a mistake in the file
constexpr size_t kMaxShapes = 20000;           // so is a sweep beyond this

/// Appends the shapes of `entry` to `out` (duplicates kept). `path` is the entry's place, such as "train[2]".
/// kInvalidArgument with path, cause and mend.
Status expand_entry(const nlohmann::ordered_json& entry, const std::string& path, const std::vector<std::string>& dims,
                    std::vector<WeightedShape>* out);

/// A message about a place: "train[2].N: must be at least 1, got 0".
Status shapes_error(const std::string& path, const std::string& message);

/// A positive integer up to kMaxDim.
Result<int64_t> read_extent(const nlohmann::ordered_json& value, const std::string& path);
/// A number above zero.
Result<double> read_weight(const nlohmann::ordered_json& value, const std::string& path);

}  // namespace kaon::runner
