// The parts of the JSON reader and writer that depend on no struct.
#include "aot_runner/measure/wire.h"

#include <cmath>
#include <limits>

namespace kaon::runner {

namespace {

constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

int digit_value(char c) {
  if (c >= 'A' && c <= 'Z') return c - 'A';
  if (c >= 'a' && c <= 'z') return c - 'a' + 26;
  if (c >= '0' && c <= '9') return c - '0' + 52;
  if (c == '+') return 62;
  return c == '/' ? 63 : -1;
}

}  // namespace

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    uint32_t group = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    for (size_t j = 0; j < 3; ++j) group = group << 8 | (j < count ? static_cast<uint8_t>(bytes[i + j]) : 0u);
    for (size_t j = 0; j < 4; ++j) text += j <= count ? kDigits[group >> (18 - 6 * j) & 63u] : '=';
  }
  return text;
}

bool from_base64(std::string_view text, std::string* bytes) {
  if (text.size() % 4 != 0) return false;
  bytes->clear();
  bytes->reserve(text.size() / 4 * 3);
  for (size_t i = 0; i < text.size(); i += 4) {
    const bool last = i + 4 == text.size();
    const int padding = last ? (text[i + 3] == '=') + (text[i + 2] == '=' && text[i + 3] == '=') : 0;
    uint32_t group = 0;
    for (int j = 0; j < 4; ++j) {
      const int value = j >= 4 - padding ? 0 : digit_value(text[i + static_cast<size_t>(j)]);
      if (value < 0) return false;
      group = group << 6 | static_cast<uint32_t>(value);
    }
    for (int j = 0; j < 3 - padding; ++j) *bytes += static_cast<char>(group >> (16 - 8 * j) & 255u);
  }
  return true;
}

nlohmann::json WireWriter::number(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value;
}

Result<WireReader> WireReader::parse(std::string_view text, const char* what) {
  nlohmann::json json = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) {
    return Status(Code::kInvalidArgument,
                  std::string(what) + ": expected one JSON object, got '" + std::string(text.substr(0, 60)) + "'");
  }
  return WireReader(std::move(json), what);
}

const nlohmann::json* WireReader::find(const char* name) const {
  const auto found = object_.find(name);
  return found == object_.end() ? nullptr : &*found;
}

void WireReader::fail(const std::string& name, const std::string& why) {
  if (status_.is_ok()) status_ = Status(Code::kInvalidArgument, path_ + ": field '" + name + "' " + why);
}

void WireReader::read_number(const std::string& name, const nlohmann::json& json, double& value) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (json.is_number()) return void(value = json.get<double>());
  if (json == "nan") return void(value = std::nan(""));
  if (json == "inf") return void(value = kInfinity);
  if (json == "-inf") return void(value = -kInfinity);
  fail(name, "is no number");
}

void WireReader::bytes(const char* name, std::string& value) {
  std::string text;
  field(name, text);
  if (!from_base64(text, &value)) fail(name, "is not base64");
}

void WireReader::config(const char* name, Config& value) {
  const nlohmann::json* found = find(name);
  if (found == nullptr) return fail(name, "is missing");
  Result<Config> config = Config::from_json(found->dump());
  if (!config.is_ok()) return fail(name, config.status().message());
  value = std::move(config).value();
}

void WireReader::status(const char* code, const char* message, Status& value) {
  int number = 0;
  std::string text;
  field(code, number);
  field(message, text);
  if (number < 1 || number > static_cast<int>(Code::kInternal)) return fail(code, "is no error code");
  value = Status(static_cast<Code>(number), text);
}

}  // namespace kaon::runner
