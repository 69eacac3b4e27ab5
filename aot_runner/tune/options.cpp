#include "aot_runner/tune/options.h"

#include <fmt/format.h>

#include <cstdlib>

namespace kaon::runner {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

Result<bool> flag(const char* name) {
  const std::string value = variable(name);
  if (value.empty() || value == "0" || value == "false") return false;
  if (value == "1" || value == "true") return true;
  return Status(Code::kInvalidArgument, fmt::format("{} is '{}', expected 1 or 0", name, value));
}

}  // namespace

Result<Environment> read_environment() {
  Environment environment;
  environment.cache_folder = variable("KAON_CACHE_DIR");
  if (environment.cache_folder.empty()) {
    const std::string xdg = variable("XDG_CACHE_HOME");
    const std::string home = variable("HOME");
    if (xdg.empty() && home.empty()) {
      return Status(Code::kInvalidArgument,
                    "neither KAON_CACHE_DIR nor HOME is set; set KAON_CACHE_DIR to a writable folder");
    }
    environment.cache_folder = xdg.empty() ? home + "/.cache/kaon" : xdg + "/kaon";
  }
  KAON_ASSIGN_OR_RETURN(environment.force, flag("KAON_FORCE_AUTOTUNE"));
  KAON_ASSIGN_OR_RETURN(environment.skip_cache, flag("KAON_SKIP_CACHE"));
  KAON_ASSIGN_OR_RETURN(environment.assert_hit, flag("KAON_ASSERT_CACHE_HIT"));
  environment.effort = variable("KAON_EFFORT");
  if (const std::string budget = variable("KAON_BUDGET_SECONDS"); !budget.empty()) {
    char* end = nullptr;
    environment.budget_seconds = std::strtod(budget.c_str(), &end);
    if (*end != '\0' || !(environment.budget_seconds > 0)) {
      return Status(Code::kInvalidArgument,
                    fmt::format("KAON_BUDGET_SECONDS is '{}', expected a number above 0", budget));
    }
  }
  return environment;
}

Result<EffortNumbers> resolve_effort(const TuneOptions& options, const Environment& environment) {
  const std::string name = !options.effort.empty()       ? options.effort
                           : !environment.effort.empty() ? environment.effort
                                                         : "full";
  EffortNumbers numbers;
  if (name == "none") {
    numbers = {Effort::kNone, 120, 2, -1};
  } else if (name == "quick") {
    numbers = {Effort::kQuick, 120, 24, 0};
  } else if (name == "full") {
    numbers = {Effort::kFull, 540, 32, 0};
  } else {
    return Status(Code::kInvalidArgument, fmt::format("unknown effort '{}'; known are none, quick, full", name));
  }
  if (environment.budget_seconds > 0) numbers.budget_seconds = environment.budget_seconds;
  // A list that was asked for in full is not cut off by a budget that was not.
  if (options.search != "quick") numbers.budget_seconds = 0;
  if (options.budget_seconds >= 0) numbers.budget_seconds = options.budget_seconds;
  if (options.final_configs > 0) numbers.final_configs = options.final_configs;
  if (options.trials > 0) numbers.trials = options.trials;
  return numbers;
}

}  // namespace kaon::runner
