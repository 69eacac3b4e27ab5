// Canonical JSON text: keys in the order written, numbers round-trippable, line breaks only where asked for.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kaon::heuristics {

/// Builds one document. The caller keeps begin and end calls balanced; commas come by themselves.
class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& value(std::string_view text);
  JsonWriter& value(const char* text) { return value(std::string_view(text)); }
  JsonWriter& value(const std::string& text) { return value(std::string_view(text)); }
  JsonWriter& value(int64_t number);
  JsonWriter& value(int32_t number) { return value(static_cast<int64_t>(number)); }
  JsonWriter& value(uint32_t number) { return value(static_cast<int64_t>(number)); }
  /// Shortest text that reads back as the same double; a value that is not finite becomes null.
  JsonWriter& value(double number);
  JsonWriter& value(bool truth);
  /// Text that is JSON already.
  JsonWriter& raw(std::string_view json);
  JsonWriter& array(const std::vector<int64_t>& numbers);
  JsonWriter& array(const std::vector<int32_t>& numbers);
  JsonWriter& array(const std::vector<std::string>& texts);
  /// The next key, value or closing bracket starts a line, indented by `spaces`.
  JsonWriter& line(int spaces = 0);
  /// The text so far.
  const std::string& text() const { return text_; }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  void separate();

  std::string text_;
  bool first_ = true;  // no comma before the next item
  bool after_key_ = false;
  int line_ = -1;  // pending line break and its indentation
};

}  // namespace kaon::heuristics
