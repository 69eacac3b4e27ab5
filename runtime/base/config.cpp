// How a config is written and read: canonical JSON, command-line text, and the fingerprint that identifies it.
#include "runtime/base/config.h"

#include <charconv>

#include "runtime/base/text.h"

namespace kaon {
namespace {

bool parse_int(std::string_view text, int64_t* out) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

// True only for the spelling that std::to_string gives, so that bare numbers survive a round trip unchanged.
bool is_canonical_int(const std::string& text) {
  int64_t value = 0;
  return parse_int(text, &value) && std::to_string(value) == text;
}

void append_quoted(std::string* out, const std::string& text) {
  static const char kHex[] = "0123456789abcdef";
  *out += '"';
  for (char c : text) {
    unsigned char byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      *out += '\\';
      *out += c;
    } else if (byte < 0x20) {
      *out += "\\u00";
      *out += kHex[byte >> 4];
      *out += kHex[byte & 15];
    } else {
      *out += c;
    }
  }
  *out += '"';
}

class JsonReader {
 public:
  explicit JsonReader(std::string_view text) : text_(text) {}

  Result<Config> read() {
    Config config;
    if (!take('{')) return expected("'{'");
    if (!take('}')) {
      do {
        KAON_RETURN_IF_ERROR(read_pair(&config));
      } while (take(','));
      if (!take('}')) return expected("',' or '}'");
    }
    skip_space();
    if (position_ != text_.size()) return expected("the end of the config");
    return config;
  }

 private:
  Status read_pair(Config* config) {
    std::string knob, value;
    skip_space();
    size_t start = position_;
    KAON_RETURN_IF_ERROR(read_string("a knob's name in quotes", &knob));
    if (knob.empty()) return error(start, "a knob's name is empty");
    if (config->find(knob) != nullptr) return error(start, cat("knob ", knob, " is given twice"));
    if (!take(':')) return expected("':'");
    skip_space();
    if (peek() == '"') {
      KAON_RETURN_IF_ERROR(read_string("a value", &value));
    } else {
      size_t begin = position_;
      while (position_ < text_.size() && (peek() == '-' || (peek() >= '0' && peek() <= '9'))) ++position_;
      value = std::string(text_.substr(begin, position_ - begin));
      if (!is_canonical_int(value)) {
        position_ = begin;
        return expected("an integer or a word in quotes");
      }
    }
    config->set(knob, std::move(value));
    return Status::ok();
  }

  Status read_string(const char* what, std::string* out) {
    if (!take('"')) return expected(what);
    while (position_ < text_.size() && peek() != '"') {
      char c = text_[position_++];
      if (static_cast<unsigned char>(c) < 0x20) return error(position_ - 1, "control character in a string");
      if (c == '\\') KAON_RETURN_IF_ERROR(read_escape(&c));
      *out += c;
    }
    if (position_ == text_.size()) return expected("'\"'");
    ++position_;
    return Status::ok();
  }

  Status read_escape(char* out) {
    char c = position_ < text_.size() ? text_[position_] : '\0';
    if (c == '"' || c == '\\' || c == '/') {
      *out = c;
      ++position_;
      return Status::ok();
    }
    unsigned value = 0;
    const char* digits = text_.data() + position_ + 1;
    if (c == 'u' && position_ + 5 <= text_.size()) {
      auto [end, failure] = std::from_chars(digits, digits + 4, value, 16);
      if (failure == std::errc() && end == digits + 4 && value < 0x80) {
        *out = static_cast<char>(value);
        position_ += 5;
        return Status::ok();
      }
    }
    return error(position_, "unknown escape in a string");
  }

  char peek() const { return position_ < text_.size() ? text_[position_] : '\0'; }
  void skip_space() {
    while (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') ++position_;
  }
  bool take(char c) {
    skip_space();
    if (peek() != c) return false;
    ++position_;
    return true;
  }
  Status expected(const std::string& what) const {
    std::string got = position_ < text_.size() ? cat("'", std::string(1, text_[position_]), "'") : "the end";
    return error(position_, cat("expected ", what, ", got ", got));
  }
  static Status error(size_t position, const std::string& what) {
    return make_status(Code::kInvalidArgument, "config: position ", position, ": ", what);
  }

  std::string_view text_;
  size_t position_ = 0;
};

}  // namespace

const std::string* Config::find(const std::string& knob) const {
  auto it = values_.find(knob);
  return it == values_.end() ? nullptr : &it->second;
}

int64_t Config::get_int(const std::string& knob, int64_t fallback) const {
  const std::string* value = find(knob);
  int64_t number = 0;
  return value != nullptr && parse_int(*value, &number) ? number : fallback;
}

std::string Config::get(const std::string& knob, const std::string& fallback) const {
  const std::string* value = find(knob);
  return value != nullptr ? *value : fallback;
}

std::string Config::to_json() const {
  std::string out = "{";
  for (const auto& [knob, value] : values_) {
    if (out.size() > 1) out += ", ";
    append_quoted(&out, knob);
    out += ": ";
    if (is_canonical_int(value)) {
      out += value;
    } else {
      append_quoted(&out, value);
    }
  }
  return cat(out, "}");
}

std::string Config::to_text() const {
  std::string out;
  for (const auto& [knob, value] : values_) {
    if (!out.empty()) out += ' ';
    append_to(&out, knob, "=", value);
  }
  return out;
}

uint64_t Config::fingerprint() const {
  uint64_t hash = 0xcbf29ce484222325u;
  for (char c : to_json()) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

Result<Config> Config::from_json(std::string_view json) { return JsonReader(json).read(); }

Result<Config> Config::from_text(std::string_view text) {
  Config config;
  size_t position = 0;
  while (position < text.size()) {
    if (text[position] == ' ' || text[position] == '\n' || text[position] == '\t') {
      ++position;
      continue;
    }
    size_t end = text.find_first_of(" \n\t", position);
    if (end == std::string_view::npos) end = text.size();
    std::string_view pair = text.substr(position, end - position);
    size_t equals = pair.find('=');
    if (equals == std::string_view::npos || equals == 0 || equals + 1 == pair.size()) {
      return make_status(Code::kInvalidArgument, "config: expected knob=value, got '", pair, "' at position ",
                         position);
    }
    std::string knob(pair.substr(0, equals));
    if (config.find(knob) != nullptr) {
      return make_status(Code::kInvalidArgument, "config: knob ", knob, " is given twice");
    }
    config.set(knob, std::string(pair.substr(equals + 1)));
    position = end;
  }
  return config;
}

Result<KnobValue> parse_knob_value(std::string_view text) {
  KnobValue value;
  if (parse_int(text, &value.argument)) return value;
  value.argument = -1;
  size_t open = text.find('(');
  value.word = std::string(text.substr(0, open));
  bool well_formed = !value.word.empty();
  if (well_formed && open != std::string_view::npos) {
    well_formed = text.back() == ')' && parse_int(text.substr(open + 1, text.size() - open - 2), &value.argument);
  }
  if (!well_formed) {
    return make_status(Code::kInvalidArgument, "knob value '", text, "': expected an integer, a word or word(integer)");
  }
  return value;
}

}  // namespace kaon
