// What a step of kaonc came to: text to write, or a message and an exit code.
#pragma once

#include <string>
#include <utility>

#include "runtime/base/status.h"

namespace kaon::compiler {

constexpr int kExitOk = 0;
constexpr int kExitUserError = 1;
constexpr int kExitUsage = 2;
constexpr int kExitBug = 3;

struct Outcome {
  int exit_code = kExitOk;
  std::string output;   // for -o or standard output
  std::string message;  // for standard error, ends in a newline

  static Outcome text(std::string output) { return {kExitOk, std::move(output), {}}; }
  static Outcome usage(const std::string& message) { return {kExitUsage, {}, "kaonc: " + message + "\n"}; }
  static Outcome user_error(const std::string& message) { return {kExitUserError, {}, "kaonc: " + message + "\n"}; }
  /// A bug of Kaon for kInternal, else the user's.
  static Outcome failed(const Status& status) {
    if (status.code() != Code::kInternal) return user_error(status.message());
    return {
        kExitBug,
        {},
        "kaonc: internal: " + status.message() + "\nkaonc: this is a bug of Kaon, please report it with the file\n"};
  }
};

}  // namespace kaon::compiler
