// Structs as JSON objects: a writer and a reader with the same members, so that one list of fields serves both.
//
// A struct takes part by a function template fields(wire, value) found by its namespace. The reader keeps its first
// error, with the path of the field, and goes on; values it could not read keep their defaults.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/expr.h"
#include "runtime/base/status.h"

namespace kaon::runner {

std::string to_base64(std::string_view bytes);
/// False unless `text` is base64 with padding.
bool from_base64(std::string_view text, std::string* bytes);

class WireWriter {
 public:
  template <typename T>
  void field(const char* name, T& value) {
    object_[name] = to_json(value);
  }
  template <typename T>
  void optional(const char* name, T& value) {
    field(name, value);
  }
  template <typename E, size_t N>
  void choice(const char* name, E& value, const char* const (&names)[N]) {
    object_[name] = names[static_cast<size_t>(value)];
  }
  void bytes(const char* name, const std::string& value) { object_[name] = to_base64(value); }
  void config(const char* name, const Config& value) { object_[name] = nlohmann::json::parse(value.to_json()); }
  /// Templates, because only a user of this file has declared the fields of a step.
  template <typename Step>
  void expression(const char* name, Expr& value, std::vector<Step> steps) {
    steps = value.steps();
    field(name, steps);
  }
  void status(const char* code, const char* message, const Status& value) {
    object_[code] = static_cast<int>(value.code());
    object_[message] = value.message();
  }
  void expect(const char*, bool, const char*) {}
  std::string text() const { return object_.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

 private:
  template <typename T>
  static nlohmann::json to_json(T& value) {
    if constexpr (std::is_floating_point_v<T>) {
      return number(value);
    } else if constexpr (std::is_arithmetic_v<T> || std::is_same_v<T, std::string>) {
      return value;
    } else {
      WireWriter inner;
      fields(inner, value);
      return inner.object_;
    }
  }
  template <typename T>
  static nlohmann::json to_json(std::vector<T>& values) {
    nlohmann::json array = nlohmann::json::array();
    for (T& value : values) array.push_back(to_json(value));
    return array;
  }
  template <typename T>
  static nlohmann::json to_json(std::map<std::string, T>& values) {
    nlohmann::json object = nlohmann::json::object();
    for (auto& [key, value] : values) object[key] = to_json(value);
    return object;
  }
  /// JSON has no infinity or NaN.
  static nlohmann::json number(double value);

  nlohmann::json object_ = nlohmann::json::object();
};

class WireReader {
 public:
  /// kInvalidArgument unless `text` is one JSON object; `what` names it in messages.
  static Result<WireReader> parse(std::string_view text, const char* what);

  const Status& status() const { return status_; }

  template <typename T>
  void field(const char* name, T& value) {
    const nlohmann::json* found = find(name);
    if (found == nullptr) return fail(name, "is missing");
    from_json(name, *found, value);
  }
  template <typename T>
  void optional(const char* name, T& value) {
    if (const nlohmann::json* found = find(name)) from_json(name, *found, value);
  }
  template <typename E, size_t N>
  void choice(const char* name, E& value, const char* const (&names)[N]) {
    std::string text;
    field(name, text);
    for (size_t i = 0; i < N; ++i) {
      if (text == names[i]) return void(value = static_cast<E>(i));
    }
    fail(name, "has the unknown value '" + text + "'");
  }
  void bytes(const char* name, std::string& value);
  void config(const char* name, Config& value);
  template <typename Step>
  void expression(const char* name, Expr& value, std::vector<Step> steps) {
    field(name, steps);
    if (!steps.empty()) value = Expr::from_steps(std::move(steps));
  }
  void status(const char* code, const char* message, Status& value);
  void expect(const char* name, bool holds, const char* expected) {
    if (!holds) fail(name, std::string("is not ") + expected);
  }

 private:
  WireReader(nlohmann::json object, std::string path) : object_(std::move(object)), path_(std::move(path)) {}

  const nlohmann::json* find(const char* name) const;
  void fail(const std::string& name, const std::string& why);

  template <typename T>
  void from_json(const std::string& name, const nlohmann::json& json, T& value) {
    if constexpr (std::is_same_v<T, bool>) {
      json.is_boolean() ? void(value = json.get<bool>()) : fail(name, "is no boolean");
    } else if constexpr (std::is_integral_v<T>) {
      read_integer(name, json, value);
    } else if constexpr (std::is_floating_point_v<T>) {
      read_number(name, json, value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      json.is_string() ? void(value = json.get<std::string>()) : fail(name, "is no string");
    } else {
      if (!json.is_object()) return fail(name, "is no object");
      WireReader inner(json, path_ + "." + name);
      fields(inner, value);
      if (status_.is_ok()) status_ = inner.status_;
    }
  }
  template <typename T>
  void from_json(const std::string& name, const nlohmann::json& json, std::vector<T>& values) {
    if (!json.is_array()) return fail(name, "is no array");
    values.assign(json.size(), T{});
    for (size_t i = 0; i < json.size(); ++i) from_json(name + "[" + std::to_string(i) + "]", json[i], values[i]);
  }
  template <typename T>
  void from_json(const std::string& name, const nlohmann::json& json, std::map<std::string, T>& values) {
    if (!json.is_object()) return fail(name, "is no object");
    values.clear();
    for (const auto& [key, member] : json.items()) from_json(name + "." + key, member, values[key]);
  }
  template <typename T>
  void read_integer(const std::string& name, const nlohmann::json& json, T& value) {
    if (!json.is_number_integer()) return fail(name, "is no integer");
    // Compared as 128 bits: every 64-bit type fits.
    const __int128 number = json.is_number_unsigned() ? static_cast<__int128>(json.get<uint64_t>())
                                                      : static_cast<__int128>(json.get<int64_t>());
    if (number < std::numeric_limits<T>::min() || number > static_cast<__int128>(std::numeric_limits<T>::max())) {
      return fail(name, "is out of range");
    }
    value = static_cast<T>(number);
  }
  void read_number(const std::string& name, const nlohmann::json& json, double& value);

  nlohmann::json object_;
  std::string path_;
  Status status_;
};

}  // namespace kaon::runner
