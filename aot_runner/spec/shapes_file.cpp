#include "aot_runner/spec/shapes_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "aot_runner/spec/dim_expr.h"
#include "aot_runner/spec/entries.h"

namespace kaon::runner {
namespace {

using json = nlohmann::ordered_json;

/// Keeps the places of a text in messages: the parser reports bytes, people read lines.
Result<json> parse_json(std::string_view text, const std::string& name) {
  try {
    return json::parse(text, nullptr, /*allow_exceptions=*/true, /*ignore_comments=*/true);
  } catch (const json::parse_error& error) {
    const size_t at = std::min(text.size(), error.byte > 0 ? error.byte - 1 : size_t{0});
    const auto line = std::count(text.begin(), text.begin() + static_cast<long>(at), '\n') + 1;
    const size_t line_start = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
    const size_t column = line_start == std::string_view::npos ? at + 1 : at - line_start;
    std::string what = error.what();
    if (const size_t colon = what.rfind(": "); colon != std::string::npos) what = what.substr(colon + 2);
    return Status(Code::kInvalidArgument, fmt::format("{}:{}:{}: not JSON: {}", name, line, column, what));
  } catch (const json::exception& error) {
    return Status(Code::kInvalidArgument, fmt::format("{}: not JSON: {}", name, error.what()));
  }
}

class Reader {
 public:
  Reader(const json& root, const std::vector<std::string>& dims) : root_(root) { spec_.dims = dims; }

  Result<ShapesSpec> read() {
    if (!root_.is_object()) return shapes_error("the file", "must hold one object with the key \"train\"");
    static const std::vector<std::string> kKeys = {"kernel", "dtypes",  "train",  "measure", "held_out", "weights",
                                                   "limits", "derived", "ignore", "scalars", "constants", "data"};
    for (const auto& [key, value] : root_.items()) {
      if (std::find(kKeys.begin(), kKeys.end(), key) == kKeys.end()) {
        return shapes_error(key, fmt::format("unknown key; known are {}", fmt::join(kKeys, ", ")));
      }
    }
    KAON_RETURN_IF_ERROR(read_names());
    KAON_RETURN_IF_ERROR(read_features());
    KAON_RETURN_IF_ERROR(read_numbers());
    KAON_RETURN_IF_ERROR(read_data());
    if (!root_.contains("train")) return shapes_error("train", "is missing; it lists the shapes to tune for");
    KAON_RETURN_IF_ERROR(read_set("train", &spec_.train));
    KAON_RETURN_IF_ERROR(read_set("measure", &spec_.measure));
    KAON_RETURN_IF_ERROR(read_set("held_out", &spec_.held_out));
    if (spec_.train.empty()) return shapes_error("train", "has no shape; give at least one entry within the limits");
    separate();
    return std::move(spec_);
  }

 private:
  Status read_strings(const char* key, std::vector<std::string>* out) {
    if (!root_.contains(key)) return Status::ok();
    const json& list = root_[key];
    if (!list.is_array()) return shapes_error(key, "must be a list of strings");
    for (size_t i = 0; i < list.size(); ++i) {
      if (!list[i].is_string()) return shapes_error(fmt::format("{}[{}]", key, i), "must be a string");
      out->push_back(list[i].get<std::string>());
    }
    return Status::ok();
  }

  Status read_names() {
    if (root_.contains("kernel")) {
      if (!root_["kernel"].is_string()) return shapes_error("kernel", "must be a string");
      spec_.kernel = root_["kernel"].get<std::string>();
    }
    KAON_RETURN_IF_ERROR(read_strings("dtypes", &spec_.dtypes));
    KAON_RETURN_IF_ERROR(read_strings("ignore", &spec_.ignored));
    for (const std::string& dim : spec_.ignored) {
      if (std::find(spec_.dims.begin(), spec_.dims.end(), dim) == spec_.dims.end()) {
        return shapes_error("ignore", fmt::format("unknown dim \"{}\"; the kernel's dims are {}", dim, fmt::join(spec_.dims, ", ")));
      }
    }
    return Status::ok();
  }

  Status read_features() {
    if (!root_.contains("derived")) return Status::ok();
    const json& derived = root_["derived"];
    if (!derived.is_object()) return shapes_error("derived", "must be an object such as {\"MN\": \"M*N\"}");
    for (const auto& [name, value] : derived.items()) {
      if (!value.is_string()) return shapes_error("derived." + name, "must be an expression in a string");
      Result<Expr> expr = parse_dim_expr(value.get<std::string>(), spec_.dims);
      if (!expr.is_ok()) return shapes_error("derived." + name, expr.status().message());
      spec_.derived.push_back({name, value.get<std::string>(), std::move(expr).value()});
    }
    return Status::ok();
  }

  Status read_numbers() {
    for (const char* key : {"scalars", "constants"}) {
      if (!root_.contains(key)) continue;
      if (!root_[key].is_object()) return shapes_error(key, "must be an object of numbers");
      for (const auto& [name, value] : root_[key].items()) {
        const std::string at = std::string(key) + "." + name;
        if (!value.is_number()) return shapes_error(at, "must be a number");
        if (key[0] == 's') {
          spec_.scalars[name] = value.get<double>();
        } else if (value.is_number_integer()) {
          spec_.constants[name] = value.get<int64_t>();
        } else {
          return shapes_error(at, "must be an integer");
        }
      }
    }
    if (!root_.contains("limits")) return Status::ok();
    if (!root_["limits"].is_object()) return shapes_error("limits", "must be an object such as {\"M*N\": 268435456}");
    for (const auto& [text, value] : root_["limits"].items()) {
      Result<Expr> expr = parse_dim_expr(text, spec_.dims);
      if (!expr.is_ok()) return shapes_error("limits", expr.status().message());
      if (!value.is_number_integer() || value.get<int64_t>() < 1) {
        return shapes_error(fmt::format("limits[\"{}\"]", text), "must be an integer of at least 1");
      }
      limits_.emplace_back(std::move(expr).value(), value.get<int64_t>());
    }
    return Status::ok();
  }

  Status read_data() {
    if (!root_.contains("data")) return Status::ok();
    if (!root_["data"].is_object()) return shapes_error("data", "must be an object such as {\"labels\": \"range(0, N)\"}");
    for (const auto& [tensor, value] : root_["data"].items()) {
      KAON_ASSIGN_OR_RETURN(DataRule rule, DataRule::parse(tensor, value, "data." + tensor, spec_.dims));
      spec_.data.push_back(std::move(rule));
    }
    return Status::ok();
  }

  bool within_limits(const Shape& shape) const {
    return std::all_of(limits_.begin(), limits_.end(),
                       [&](const auto& limit) { return limit.first.evaluate(shape.data()) <= limit.second; });
  }

  Status read_set(const std::string& key, std::vector<WeightedShape>* out) {
    if (!root_.contains(key)) return Status::ok();
    const json& list = root_[key];
    if (!list.is_array()) return shapes_error(key, "must be a list of entries");
    std::vector<WeightedShape> all;
    for (size_t i = 0; i < list.size(); ++i) {
      KAON_RETURN_IF_ERROR(expand_entry(list[i], fmt::format("{}[{}]", key, i), spec_.dims, &all));
      if (all.size() > kMaxShapes) return shapes_error(key, fmt::format("has more than {} shapes", kMaxShapes));
    }
    size_t outside = 0;
    for (WeightedShape& shape : all) {
      KAON_RETURN_IF_ERROR(apply_weights(&shape));
      if (within_limits(shape.shape)) {
        add_unique(out, shape);
      } else {
        ++outside;
      }
    }
    if (outside > 0) spec_.notes.push_back(fmt::format("{}: {} shapes outside the limits were left out", key, outside));
    return Status::ok();
  }

  /// Multiplies the weight of a shape by each rule of "weights" that it meets.
  Status apply_weights(WeightedShape* shape) const {
    if (!root_.contains("weights")) return Status::ok();
    const json& rules = root_["weights"];
    if (!rules.is_array()) return shapes_error("weights", "must be a list such as [{\"M\": {\"to\": 64}, \"weight\": 4}]");
    for (size_t i = 0; i < rules.size(); ++i) {
      const std::string path = fmt::format("weights[{}]", i);
      if (!rules[i].is_object() || !rules[i].contains("weight")) return shapes_error(path, "needs a \"weight\"");
      KAON_ASSIGN_OR_RETURN(const double factor, read_weight(rules[i]["weight"], path + ".weight"));
      bool meets = true;
      for (const auto& [key, value] : rules[i].items()) {
        if (key == "weight") continue;
        const auto it = std::find(spec_.dims.begin(), spec_.dims.end(), key);
        if (it == spec_.dims.end()) {
          return shapes_error(path, fmt::format("unknown dim \"{}\"; the kernel's dims are {}", key, fmt::join(spec_.dims, ", ")));
        }
        KAON_ASSIGN_OR_RETURN(const bool here, in_range(value, path + "." + key, shape->shape[static_cast<size_t>(it - spec_.dims.begin())]));
        meets = meets && here;
      }
      if (meets) shape->weight *= factor;
    }
    return Status::ok();
  }

  static Result<bool> in_range(const json& value, const std::string& path, int64_t extent) {
    if (!value.is_object()) {
      KAON_ASSIGN_OR_RETURN(const int64_t equal, read_extent(value, path));
      return extent == equal;
    }
    bool inside = true;
    for (const auto& [key, bound] : value.items()) {
      if (key != "from" && key != "to") return shapes_error(path + "." + key, "unknown key; known are from, to");
      KAON_ASSIGN_OR_RETURN(const int64_t limit, read_extent(bound, path + "." + key));
      inside = inside && (key == "from" ? extent >= limit : extent <= limit);
    }
    return inside;
  }

  /// Held-out shapes must not have been looked at, or the evidence is worth nothing.
  void separate();

  const json& root_;
  ShapesSpec spec_;
  std::vector<std::pair<Expr, int64_t>> limits_;
};

bool contains_shape(const std::vector<WeightedShape>& set, const Shape& shape) {
  return std::any_of(set.begin(), set.end(), [&](const WeightedShape& s) { return s.shape == shape; });
}

size_t erase_known(std::vector<WeightedShape>* set, const std::vector<WeightedShape>& known) {
  const size_t before = set->size();
  set->erase(std::remove_if(set->begin(), set->end(), [&](const WeightedShape& s) { return contains_shape(known, s.shape); }),
             set->end());
  return before - set->size();
}

/// Takes every sixth shape, never the first or the last, which mark the ends of the sweep.
void withhold(ShapesSpec* spec) {
  constexpr size_t kPeriod = 6;
  if (spec->train.size() < 2 * kPeriod) {
    spec->notes.push_back("no held_out set, and too few train shapes to withhold any: there will be no held-out evidence");
    return;
  }
  std::vector<WeightedShape> kept;
  for (size_t i = 0; i < spec->train.size(); ++i) {
    const bool take = i % kPeriod == kPeriod / 2 && i + 1 < spec->train.size();
    (take ? spec->held_out : kept).push_back(spec->train[i]);
  }
  spec->train = std::move(kept);
  spec->notes.push_back(fmt::format("no held_out set: {} train shapes were withheld for the evaluation", spec->held_out.size()));
}

void Reader::separate() {
  erase_known(&spec_.measure, spec_.train);
  if (!root_.contains("held_out")) {
    withhold(&spec_);
    return;
  }
  const size_t dropped = erase_known(&spec_.held_out, spec_.train) + erase_known(&spec_.held_out, spec_.measure);
  if (dropped > 0) {
    spec_.notes.push_back(fmt::format("held_out: {} shapes that are also trained on were left out", dropped));
  }
}

}  // namespace

Result<ShapesSpec> parse_shapes(std::string_view text, const std::string& name, const std::vector<std::string>& dims) {
  KAON_ASSIGN_OR_RETURN(const json root, parse_json(text, name));
  Result<ShapesSpec> spec = Reader(root, dims).read();
  if (!spec.is_ok()) return Status(spec.status().code(), name + ": " + spec.status().message());
  return spec;
}

Result<std::string> peek_kernel(std::string_view text, const std::string& name) {
  KAON_ASSIGN_OR_RETURN(const json root, parse_json(text, name));
  if (!root.is_object() || !root.contains("kernel") || !root["kernel"].is_string()) return std::string();
  return root["kernel"].get<std::string>();
}

ShapesSpec spec_from_recording(const RecordedShapes& recorded, const std::vector<std::string>& dims) {
  ShapesSpec spec;
  spec.kernel = recorded.kernel;
  spec.dtypes = recorded.dtypes;
  spec.dims = dims;
  spec.train = recorded.shapes;
  withhold(&spec);
  return spec;
}

std::string spec_to_json(const ShapesSpec& spec) {
  json out;
  out["kernel"] = spec.kernel;
  out["dtypes"] = spec.dtypes;
  out["dims"] = spec.dims;
  const auto list = [](const std::vector<WeightedShape>& set) {
    json rows = json::array();
    for (const WeightedShape& s : set) {
      json row = s.shape;
      row.push_back(s.weight);
      rows.push_back(std::move(row));
    }
    return rows;
  };
  out["train"] = list(spec.train);
  out["measure"] = list(spec.measure);
  out["held_out"] = list(spec.held_out);
  out["derived"] = json::object();
  for (const DerivedFeature& d : spec.derived) out["derived"][d.name] = d.text;
  out["ignore"] = spec.ignored;
  out["scalars"] = json(spec.scalars);
  out["constants"] = json(spec.constants);
  if (!spec.data.empty()) out["data"] = json::object();
  for (const DataRule& rule : spec.data) out["data"][rule.tensor()] = json::parse(rule.text());
  return out.dump();
}

}  // namespace kaon::runner
