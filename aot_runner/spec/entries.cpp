#include "aot_runner/spec/entries.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "heuristics/random.h"

namespace kaon::runner {
namespace {

using json = nlohmann::ordered_json;

std::string short_text(const json& value) {
  std::string text = value.dump(-1, ' ', false, json::error_handler_t::replace);
  if (text.size() > 40) text = text.substr(0, 37) + "...";
  return text;
}

/// {"from": a, "to": b} with either "step", "factor", or (in samples) "log" and "multiple".
struct Range {
  int64_t from = 1;
  int64_t to = 1;
  int64_t step = 1;
  double factor = 0;  // 0: arithmetic
  bool log = false;
  int64_t multiple = 1;
};

Result<Range> read_range(const json& value, const std::string& path, bool in_sample) {
  Range range;
  for (const char* needed : {"from", "to"}) {
    if (!value.contains(needed)) {
      return shapes_error(path, fmt::format("a range needs \"from\" and \"to\"; \"{}\" is missing", needed));
    }
  }
  for (const auto& [key, item] : value.items()) {
    const std::string at = path + "." + key;
    if (key == "from" || key == "to" || key == "step" || key == "multiple") {
      KAON_ASSIGN_OR_RETURN(const int64_t number, read_extent(item, at));
      (key == "from" ? range.from : key == "to" ? range.to : key == "step" ? range.step : range.multiple) = number;
    } else if (key == "factor") {
      if (!item.is_number() || item.get<double>() < 1.01) {
        return shapes_error(at, fmt::format("must be a number of at least 1.01, got {}", short_text(item)));
      }
      range.factor = item.get<double>();
    } else if (key == "log") {
      if (!item.is_boolean()) return shapes_error(at, fmt::format("must be true or false, got {}", short_text(item)));
      range.log = item.get<bool>();
    } else {
      return shapes_error(at, "unknown key; a range has from, to, and step or factor, in a sample also log and multiple");
    }
  }
  if (range.to < range.from) {
    return shapes_error(path, fmt::format("\"to\" is {} and lies below \"from\", which is {}; exchange them", range.to,
                                          range.from));
  }
  if (!in_sample && (value.contains("log") || value.contains("multiple"))) {
    return shapes_error(path, "log and multiple belong to samples; give the entry a \"sample\" count, or use step or factor");
  }
  if (in_sample && (value.contains("step") || value.contains("factor"))) {
    return shapes_error(path, "step and factor belong to ranges; in a sample use log and multiple");
  }
  if (range.factor > 0 && value.contains("step")) return shapes_error(path, "has both step and factor; keep one");
  return range;
}

Status expand_range(const Range& range, const std::string& path, std::vector<int64_t>* out) {
  if (range.factor == 0 && (range.to - range.from) / range.step >= static_cast<int64_t>(kMaxShapes)) {
    return shapes_error(path, fmt::format("gives {} values, more than {}; raise step", (range.to - range.from) / range.step + 1,
                                          kMaxShapes));
  }
  if (range.factor == 0) {
    for (int64_t v = range.from; v <= range.to; v += range.step) out->push_back(v);
    return Status::ok();
  }
  double exact = static_cast<double>(range.from);
  int64_t last = 0;
  while (true) {
    const int64_t v = std::llround(exact);
    if (v > range.to) break;
    if (v != last) out->push_back(v);
    last = v;
    exact *= range.factor;
  }
  return Status::ok();
}

/// Values of one dim of a cross product.
Status expand_dim(const json& value, const std::string& path, std::vector<int64_t>* out) {
  if (value.is_array()) {
    if (value.empty()) return shapes_error(path, "is an empty list; give at least one value");
    for (size_t i = 0; i < value.size(); ++i) {
      KAON_RETURN_IF_ERROR(expand_dim(value[i], fmt::format("{}[{}]", path, i), out));
    }
    return Status::ok();
  }
  if (value.is_object()) {
    KAON_ASSIGN_OR_RETURN(const Range range, read_range(value, path, /*in_sample=*/false));
    return expand_range(range, path, out);
  }
  KAON_ASSIGN_OR_RETURN(const int64_t number, read_extent(value, path));
  out->push_back(number);
  return Status::ok();
}

int64_t draw(const Range& range, heuristics::Random* random) {
  double value = 0;
  if (range.log) {
    const double low = std::log(static_cast<double>(range.from));
    const double high = std::log(static_cast<double>(range.to));
    value = std::exp(low + (high - low) * random->uniform());
  } else {
    return std::min(range.to, [&] {
      const int64_t v = range.from + static_cast<int64_t>(random->below(static_cast<uint64_t>(range.to - range.from + 1)));
      return std::max(range.from, (v + range.multiple / 2) / range.multiple * range.multiple);
    }());
  }
  int64_t rounded = std::llround(value / static_cast<double>(range.multiple)) * range.multiple;
  return std::clamp(rounded, range.from, range.to);
}

/// Either a list to choose from or a range to draw from.
struct Sampler {
  std::vector<int64_t> choices;
  Range range;
};

Status expand_sample(const json& entry, const std::string& path, const std::vector<std::string>& dims, double weight,
                     std::vector<WeightedShape>* out) {
  KAON_ASSIGN_OR_RETURN(const int64_t count, read_extent(entry["sample"], path + ".sample"));
  if (count > static_cast<int64_t>(kMaxShapes)) {
    return shapes_error(path + ".sample", fmt::format("must be at most {}, got {}", kMaxShapes, count));
  }
  uint64_t seed = 1;
  if (entry.contains("seed")) {
    if (!entry["seed"].is_number_unsigned()) {
      return shapes_error(path + ".seed", fmt::format("must be an integer of at least 0, got {}", short_text(entry["seed"])));
    }
    seed = entry["seed"].get<uint64_t>();
  }
  std::vector<Sampler> samplers(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    const json& value = entry[dims[d]];
    const std::string at = path + "." + dims[d];
    if (value.is_object()) {
      KAON_ASSIGN_OR_RETURN(samplers[d].range, read_range(value, at, /*in_sample=*/true));
    } else {
      KAON_RETURN_IF_ERROR(expand_dim(value, at, &samplers[d].choices));
    }
  }
  heuristics::Random random(seed);
  std::vector<WeightedShape> drawn;
  // A sample wants distinct shapes; a space with fewer of them gives what it has.
  for (int64_t tries = 0; tries < count * 8 && static_cast<int64_t>(drawn.size()) < count; ++tries) {
    WeightedShape shape{{}, weight};
    for (const Sampler& sampler : samplers) {
      shape.shape.push_back(sampler.choices.empty() ? draw(sampler.range, &random)
                                                    : sampler.choices[random.below(sampler.choices.size())]);
    }
    add_unique(&drawn, shape);
  }
  out->insert(out->end(), drawn.begin(), drawn.end());
  return Status::ok();
}

Status expand_product(const json& entry, const std::string& path, const std::vector<std::string>& dims, double weight,
                      std::vector<WeightedShape>* out) {
  std::vector<std::vector<int64_t>> values(dims.size());
  size_t total = 1;
  for (size_t d = 0; d < dims.size(); ++d) {
    KAON_RETURN_IF_ERROR(expand_dim(entry[dims[d]], path + "." + dims[d], &values[d]));
    if (values[d].size() > kMaxShapes / total) {
      return shapes_error(path, fmt::format("its cross product has more than {} shapes; use fewer values or a sample",
                                            kMaxShapes));
    }
    total *= values[d].size();
  }
  for (size_t i = 0; i < total; ++i) {
    WeightedShape shape{Shape(dims.size()), weight};
    size_t rest = i;
    for (size_t d = dims.size(); d-- > 0;) {  // the last dim runs fastest
      shape.shape[d] = values[d][rest % values[d].size()];
      rest /= values[d].size();
    }
    out->push_back(std::move(shape));
  }
  return Status::ok();
}

Status check_keys(const json& entry, const std::string& path, const std::vector<std::string>& dims) {
  const bool is_sample = entry.contains("sample");
  for (const auto& [key, value] : entry.items()) {
    if (key == "weight" || key == "sample" || std::find(dims.begin(), dims.end(), key) != dims.end()) continue;
    if (key == "seed" && is_sample) continue;
    if (key == "seed") return shapes_error(path + ".seed", "belongs to a sample; add \"sample\": <count> or remove it");
    return shapes_error(path, fmt::format("unknown dim \"{}\"; the kernel's dims are {}", key, fmt::join(dims, ", ")));
  }
  for (const std::string& dim : dims) {
    if (!entry.contains(dim)) {
      return shapes_error(path, fmt::format("dim \"{}\" is missing; every entry gives {}", dim, fmt::join(dims, ", ")));
    }
  }
  return Status::ok();
}

}  // namespace

Status shapes_error(const std::string& path, const std::string& message) {
  return {Code::kInvalidArgument, path + ": " + message};
}

Result<int64_t> read_extent(const json& value, const std::string& path) {
  if (!value.is_number_integer()) {
    return shapes_error(path, fmt::format("must be an integer, a list or a range {{\"from\", \"to\"}}, got {}", short_text(value)));
  }
  const bool too_large = value.is_number_unsigned() && value.get<uint64_t>() > static_cast<uint64_t>(kMaxDim);
  if (too_large) return shapes_error(path, fmt::format("must be at most 2^40, got {}", short_text(value)));
  const int64_t number = value.get<int64_t>();
  if (number < 1) return shapes_error(path, fmt::format("must be at least 1, got {}", number));
  return number;
}

Result<double> read_weight(const json& value, const std::string& path) {
  if (!value.is_number() || !(value.get<double>() > 0) || !std::isfinite(value.get<double>())) {
    return shapes_error(path, fmt::format("must be a number above 0, got {}", short_text(value)));
  }
  return value.get<double>();
}

Status expand_entry(const json& entry, const std::string& path, const std::vector<std::string>& dims,
                    std::vector<WeightedShape>* out) {
  if (entry.is_array()) {
    if (entry.size() != dims.size()) {
      return shapes_error(path, fmt::format("has {} numbers, expected {} ({})", entry.size(), dims.size(), fmt::join(dims, ", ")));
    }
    WeightedShape shape;
    for (size_t d = 0; d < dims.size(); ++d) {
      KAON_ASSIGN_OR_RETURN(const int64_t extent, read_extent(entry[d], fmt::format("{}[{}]", path, d)));
      shape.shape.push_back(extent);
    }
    out->push_back(std::move(shape));
    return Status::ok();
  }
  if (!entry.is_object()) {
    return shapes_error(path, fmt::format("must be an object such as {{\"{}\": 1024}} or a list of {} numbers, got {}",
                                          dims.empty() ? "M" : dims[0], dims.size(), short_text(entry)));
  }
  KAON_RETURN_IF_ERROR(check_keys(entry, path, dims));
  double weight = 1;
  if (entry.contains("weight")) {
    KAON_ASSIGN_OR_RETURN(weight, read_weight(entry["weight"], path + ".weight"));
  }
  if (entry.contains("sample")) return expand_sample(entry, path, dims, weight, out);
  return expand_product(entry, path, dims, weight, out);
}

}  // namespace kaon::runner
