#include "aot_runner/spec/record_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "aot_runner/spec/entries.h"

namespace kaon::runner {
namespace {

using json = nlohmann::ordered_json;

struct Line {
  std::string kernel;
  std::string dtypes;
  json dims;
  double count = 1;
};

Result<Line> parse_line(std::string_view text, const std::string& at) {
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool shaped = object.is_object() && object.contains("kernel") && object["kernel"].is_string() &&
                      object.contains("dims") && object["dims"].is_object();
  if (!shaped) {
    return shapes_error(at, "not a recorded call; expected {\"kernel\": ..., \"dtypes\": ..., \"dims\": {...}, \"count\": n}");
  }
  Line line;
  line.kernel = object["kernel"].get<std::string>();
  if (object.contains("dtypes") && object["dtypes"].is_string()) line.dtypes = object["dtypes"].get<std::string>();
  line.dims = object["dims"];
  if (object.contains("count")) {
    KAON_ASSIGN_OR_RETURN(line.count, read_weight(object["count"], at + ": count"));
  }
  return line;
}

Result<Shape> read_dims(const json& values, const std::string& at, const std::vector<std::string>& dims) {
  Shape shape;
  for (const std::string& dim : dims) {
    if (!values.contains(dim)) {
      return shapes_error(at, fmt::format("dim \"{}\" is missing; the kernel's dims are {}", dim, fmt::join(dims, ", ")));
    }
    KAON_ASSIGN_OR_RETURN(const int64_t extent, read_extent(values[dim], fmt::format("{}: {}", at, dim)));
    shape.push_back(extent);
  }
  return shape;
}

}  // namespace

Result<RecordedShapes> parse_recording(std::string_view text, const std::string& name, const std::string& kernel,
                                       const std::vector<std::string>& dims) {
  std::map<Shape, double> counts;
  std::set<std::string> dtypes;
  std::set<std::string> kernels;
  int number = 0;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    if (end == std::string_view::npos) break;  // a write that was cut off
    const std::string_view line_text = text.substr(0, end);
    text.remove_prefix(end + 1);
    ++number;
    if (line_text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const std::string at = fmt::format("{}:{}", name, number);
    KAON_ASSIGN_OR_RETURN(const Line line, parse_line(line_text, at));
    kernels.insert(line.kernel);
    if (line.kernel != kernel) continue;
    KAON_ASSIGN_OR_RETURN(const Shape shape, read_dims(line.dims, at, dims));
    counts[shape] += line.count;
    if (!line.dtypes.empty()) dtypes.insert(line.dtypes);
  }
  if (counts.empty()) {
    return Status(Code::kNotFound, kernels.empty() ? fmt::format("{}: no call was recorded", name)
                                                   : fmt::format("{}: no call of {} was recorded, only of {}", name, kernel,
                                                                 fmt::join(kernels, ", ")));
  }
  RecordedShapes recorded;
  recorded.kernel = kernel;
  recorded.dtypes.assign(dtypes.begin(), dtypes.end());
  for (const auto& [shape, count] : counts) recorded.shapes.push_back({shape, count});
  std::stable_sort(recorded.shapes.begin(), recorded.shapes.end(),
                   [](const WeightedShape& a, const WeightedShape& b) { return a.weight > b.weight; });
  return recorded;
}

bool looks_like_recording(std::string_view text) {
  const size_t start = text.find_first_not_of(" \t\r\n");
  if (start == std::string_view::npos) return true;
  const json object = json::parse(text.substr(start, text.find('\n', start) - start), nullptr, /*allow_exceptions=*/false);
  return object.is_object() && object.contains("dims") && object.contains("kernel");
}

}  // namespace kaon::runner
