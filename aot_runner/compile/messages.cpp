#include "aot_runner/compile/messages.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace kaon::runner {
namespace {

using nlohmann::json;

std::string to_line(const json& object) { return object.dump(-1, ' ', false, json::error_handler_t::replace); }

std::string to_hex(const std::string& bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(2 * bytes.size());
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

bool from_hex(const std::string& hex, std::string* bytes) {
  const auto digit = [](char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1; };
  if (hex.size() % 2 != 0) return false;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]);
    const int low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return false;
    *bytes += static_cast<char>(high * 16 + low);
  }
  return true;
}

/// The one place that turns a malformed line into a Status: messages between our own processes are never wrong in
/// more interesting ways.
template <typename Read>
auto read_line(std::string_view line, Read read) -> Result<decltype(read(json()))> {
  try {
    return read(json::parse(line));
  } catch (const json::exception& error) {
    return Status(Code::kInvalidArgument, fmt::format("not a message of a compile worker: {}", error.what()));
  }
}

Status read_status(const json& object) {
  if (!object.contains("code")) return Status::ok();
  return {static_cast<Code>(object.at("code").get<int>()), object.at("message").get<std::string>()};
}

json resources_json(const Resources& r) {
  return {{"registers", r.registers},
          {"spill_store_bytes", r.spill_store_bytes},
          {"spill_load_bytes", r.spill_load_bytes},
          {"stack_bytes", r.stack_bytes},
          {"static_shared_bytes", r.static_shared_bytes},
          {"dynamic_shared_bytes", r.dynamic_shared_bytes}};
}

}  // namespace

std::string encode_job(const CompileJob& job) {
  return to_line({{"kernel", job.logical_ir},
                  {"target", job.target},
                  {"ptxas", job.ptxas},
                  {"checked", job.checked},
                  {"timeout", job.child_timeout_s}});
}

Result<CompileJob> decode_job(std::string_view line) {
  return read_line(line, [](const json& object) {
    return CompileJob{object.at("kernel").get<std::string>(), object.at("target").get<std::string>(),
                      object.at("ptxas").get<std::string>(), object.at("checked").get<bool>(),
                      object.at("timeout").get<double>()};
  });
}

std::string encode_config(const Config& config) { return to_line({{"config", config.to_json()}}); }

Result<Config> decode_config(std::string_view line) {
  KAON_ASSIGN_OR_RETURN(const std::string text,
                        read_line(line, [](const json& object) { return object.at("config").get<std::string>(); }));
  return Config::from_json(text);
}

std::string encode_outcome(const CompileOutcome& outcome) {
  const StoredVariant& v = outcome.variant;
  if (v.code != Code::kOk) {
    return to_line({{"code", static_cast<int>(v.code)}, {"message", v.message}, {"seconds", v.seconds}});
  }
  return to_line(
      {{"info", v.info}, {"resources", v.resources}, {"image", to_hex(outcome.image)}, {"seconds", v.seconds}});
}

Result<CompileOutcome> decode_outcome(std::string_view line) {
  return read_line(line, [](const json& object) {
    CompileOutcome outcome;
    const Status status = read_status(object);
    outcome.variant.code = status.code();
    outcome.variant.message = status.message();
    outcome.variant.seconds = object.at("seconds").get<double>();
    if (!status.is_ok()) return outcome;
    outcome.variant.info = object.at("info").get<std::string>();
    outcome.variant.resources = object.at("resources").get<std::string>();
    if (!from_hex(object.at("image").get<std::string>(), &outcome.image)) {
      outcome.variant.code = Code::kInternal;
      outcome.variant.message = "a compile worker sent a damaged image";
    }
    outcome.variant.image_hash = content_hash(outcome.image);
    return outcome;
  });
}

std::string encode_ready() { return to_line({{"ready", true}}); }

Status decode_ready(std::string_view line) {
  struct Answer {
    Status status;
  };
  Result<Answer> answer = read_line(line, [](const json& object) { return Answer{read_status(object)}; });
  return answer.is_ok() ? answer->status : answer.status();
}

std::string resources_to_json(const Resources& resources) { return to_line(resources_json(resources)); }

Result<Resources> resources_from_json(std::string_view text) {
  return read_line(text, [](const json& object) {
    Resources r;
    r.registers = object.at("registers").get<uint32_t>();
    r.spill_store_bytes = object.at("spill_store_bytes").get<uint32_t>();
    r.spill_load_bytes = object.at("spill_load_bytes").get<uint32_t>();
    r.stack_bytes = object.at("stack_bytes").get<uint32_t>();
    r.static_shared_bytes = object.at("static_shared_bytes").get<uint32_t>();
    r.dynamic_shared_bytes = object.at("dynamic_shared_bytes").get<uint32_t>();
    return r;
  });
}

}  // namespace kaon::runner
