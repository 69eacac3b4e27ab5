// A config: which way each knob is turned, as canonical text with a stable fingerprint.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace kaon {

/// Knob name -> value, ordered by name. A value is an integer ("4"), or a word with optional arguments in parentheses
/// ("resident(7)", "chunk(4096)", "cs"). A knob that is absent has its default.
class Config {
 public:
  void set(const std::string& knob, std::string value) { values_[knob] = std::move(value); }
  void set(const std::string& knob, int64_t value) { values_[knob] = std::to_string(value); }
  void erase(const std::string& knob) { values_.erase(knob); }
  /// Null when absent.
  const std::string* find(const std::string& knob) const;
  int64_t get_int(const std::string& knob, int64_t fallback) const;
  std::string get(const std::string& knob, const std::string& fallback) const;
  const std::map<std::string, std::string>& values() const { return values_; }

  /// Canonical JSON, keys sorted, integers bare and words quoted: {"block.m": 4, "reduce.N": "resident(7)"}.
  std::string to_json() const;
  /// "block.m=4 reduce.N=resident(7)": for tables and file names.
  std::string to_text() const;
  /// 64-bit FNV-1a of to_json(); equal configs have equal fingerprints in every build.
  uint64_t fingerprint() const;

  /// Accepts what to_json() writes (any order and spacing). kInvalidArgument with the position of the error.
  static Result<Config> from_json(std::string_view json);
  /// Accepts to_text()'s form, or one `knob=value`.
  static Result<Config> from_text(std::string_view text);

  friend bool operator==(const Config& a, const Config& b) { return a.values_ == b.values_; }
  friend bool operator<(const Config& a, const Config& b) { return a.values_ < b.values_; }

 private:
  std::map<std::string, std::string> values_;
};

/// "resident(7)" -> word "resident", argument 7; "4" -> word "", argument 4; "cs" -> word "cs", argument -1.
struct KnobValue {
  std::string word;
  int64_t argument = -1;
};
Result<KnobValue> parse_knob_value(std::string_view text);

}  // namespace kaon
