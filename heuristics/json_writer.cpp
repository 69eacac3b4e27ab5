// Escaping, number formatting and commas.
#include "heuristics/json_writer.h"

#include <charconv>
#include <cmath>

namespace kaon::heuristics {
namespace {

void append_escaped(std::string* out, std::string_view text) {
  constexpr char kHex[] = "0123456789abcdef";
  *out += '"';
  for (unsigned char c : text) {
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += static_cast<char>(c);
    } else if (c == '\n') {
      *out += "\\n";
    } else if (c == '\t') {
      *out += "\\t";
    } else if (c < 0x20) {
      *out += "\\u00";
      *out += kHex[c >> 4];
      *out += kHex[c & 15];
    } else {
      *out += static_cast<char>(c);
    }
  }
  *out += '"';
}

}  // namespace

void JsonWriter::separate() {
  if (after_key_) {
    after_key_ = false;
    return;
  }
  if (!first_) text_ += line_ >= 0 ? "," : ", ";
  first_ = false;
  if (line_ >= 0) text_ += '\n' + std::string(static_cast<size_t>(line_), ' ');
  line_ = -1;
}

JsonWriter& JsonWriter::open(char bracket) {
  separate();
  text_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  if (line_ >= 0) text_ += '\n' + std::string(static_cast<size_t>(line_), ' ');
  line_ = -1;
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  separate();
  append_escaped(&text_, name);
  text_ += ": ";
  after_key_ = true;
  return *this;
}

JsonWriter& JsonWriter::value(std::string_view text) {
  separate();
  append_escaped(&text_, text);
  return *this;
}

JsonWriter& JsonWriter::value(int64_t number) {
  separate();
  text_ += std::to_string(number);
  return *this;
}

JsonWriter& JsonWriter::value(double number) {
  separate();
  if (!std::isfinite(number)) {
    text_ += "null";
    return *this;
  }
  char buffer[40];
  auto [end, error] = std::to_chars(buffer, buffer + sizeof(buffer), number);
  text_.append(buffer, error == std::errc() ? end : buffer);
  return *this;
}

JsonWriter& JsonWriter::value(bool truth) { return raw(truth ? "true" : "false"); }

JsonWriter& JsonWriter::raw(std::string_view json) {
  separate();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::array(const std::vector<int64_t>& numbers) {
  separate();
  text_ += '[';
  for (size_t i = 0; i < numbers.size(); ++i) {
    if (i > 0) text_ += ',';
    text_ += std::to_string(numbers[i]);
  }
  text_ += ']';
  return *this;
}

JsonWriter& JsonWriter::array(const std::vector<int32_t>& numbers) {
  return array(std::vector<int64_t>(numbers.begin(), numbers.end()));
}

JsonWriter& JsonWriter::array(const std::vector<std::string>& texts) {
  begin_array();
  for (const std::string& text : texts) value(text);
  return end_array();
}

JsonWriter& JsonWriter::line(int spaces) {
  line_ = spaces;
  return *this;
}

}  // namespace kaon::heuristics
