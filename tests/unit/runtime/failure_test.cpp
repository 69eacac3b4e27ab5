// Every driver call of a scenario fails, one at a time and with one error after another: the step that made it reports
// it, the same step works when it is repeated, everything else goes on, and what is left is what an undisturbed run
// leaves.
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <map>
#include <sstream>

#include "runtime/driver/driver.h"
#include "runtime/kaon.hpp"
#include "tests/support/depth.h"
#include "tests/unit/runtime/failure_scenario.h"
#include "tests/unit/runtime/in_child.h"
#include "tests/unit/runtime/stub.h"

namespace kaon {
namespace {

using testing::in_child;
using testing::Outcome;
using testing::run_scenario;
using testing::scenario_state;
using testing::stub;

const char* const kSymbols[] = {
#define KAON_CUDA_FUNCTION(name, symbol, required, parameters) symbol,
#include "runtime/driver/cuda_functions.inc"
#undef KAON_CUDA_FUNCTION
};

struct Error {
  int value;
  const char* name;
  Code code;
};
const Error kErrors[] = {
    {1, "CUDA_ERROR_INVALID_VALUE", Code::kDriver},
    {2, "CUDA_ERROR_OUT_OF_MEMORY", Code::kOutOfMemory},
    {46, "CUDA_ERROR_DEVICE_UNAVAILABLE", Code::kNoDevice},
    {201, "CUDA_ERROR_INVALID_CONTEXT", Code::kDriver},
    {209, "CUDA_ERROR_NO_BINARY_FOR_GPU", Code::kUnsupported},
    {700, "CUDA_ERROR_ILLEGAL_ADDRESS", Code::kDriver},
    {719, "CUDA_ERROR_LAUNCH_FAILED", Code::kDriver},
    {999, "CUDA_ERROR_UNKNOWN", Code::kDriver},
};

// Where nothing is lost by a failure, and nobody could mend it: releasing, and the capture mode of a thread.
bool is_silent(const std::string& symbol) {
  return symbol == "cuThreadExchangeStreamCaptureMode" || symbol.find("Destroy") != std::string::npos ||
         symbol.find("Free") != std::string::npos || symbol.find("Release") != std::string::npos ||
         symbol == "cuLibraryUnload";
}

// Failures of these are about one variant, and say which.
bool is_about_a_variant(const std::string& symbol) {
  return symbol == "cuLaunchKernel" || symbol == "cuLaunchKernelEx" || symbol == "cuMemsetD8Async" ||
         symbol == "cuStreamIsCapturing";
}

struct Campaign : ::testing::Test {
  void SetUp() override {
    stub();  // before the children: they share what it sets
    pack_ = ::testing::TempDir() + "kaon_failure_" + std::to_string(getpid()) + ".kpack";
    std::ofstream(pack_, std::ios::binary) << testing::scenario_pack();
  }
  void TearDown() override { remove(pack_.c_str()); }

  // Calls of each function in a run without failures, and the state after it.
  std::map<std::string, int> clean_run(std::string* state) {
    std::istringstream text(in_child([&] {
      const Outcome outcome = run_scenario(pack_);
      if (!outcome.failures.empty()) return outcome.failures[0];
      std::string text = scenario_state() + "\n";
      for (const char* symbol : kSymbols)
        text += std::string(symbol) + " " + std::to_string(stub().calls(symbol)) + "\n";
      return text;
    }));
    std::getline(text, *state);
    std::map<std::string, int> calls;
    std::string symbol;
    for (int count; text >> symbol >> count;) calls[symbol] = count;
    return calls;
  }

  // "" when the runtime did right, else what it did.
  std::string judge(const Outcome& outcome, const std::string& symbol, const Error& error) {
    if (!outcome.lost.empty()) return "failed again: " + outcome.lost[0];
    if (is_silent(symbol)) return outcome.failures.empty() ? "" : "not silent: " + outcome.failures[0];
    // A thread without a context is told so by this very error, and a context that is not restored is restored again.
    const bool is_mended = (symbol == "cuCtxGetId" && error.value == 201) || symbol == "cuCtxSetCurrent";
    if (is_mended && outcome.failures.empty()) return "";
    if (outcome.failures.size() != 1) return std::to_string(outcome.failures.size()) + " steps failed";
    const std::string& message = outcome.failures[0];
    const std::string expected = symbol + (symbol == "cuLibraryGetKernel" ? " " : ":");
    const std::string name = std::string(error.name) + " (" + std::to_string(error.value) + ")";
    if (message.find(expected) == std::string::npos || message.find(name) == std::string::npos) {
      return "names neither: " + message;
    }
    if (is_about_a_variant(symbol) && message.find(" variant ") == std::string::npos) return "no variant: " + message;
    const Code code = symbol == "cuInit" ? Code::kNoDevice : error.code;
    if (outcome.codes[0] != code) return "code of: " + message;
    return "";
  }

  std::string pack_;
};

// The table of runtime/README.md, from the counts of this run.
void check_readme(const std::string& table) {
  const std::string path = KAON_RUNTIME_README, begin = "<!-- failures: begin -->\n", end = "<!-- failures: end -->\n";
  std::stringstream stream;
  stream << std::ifstream(path).rdbuf();
  std::string text = stream.str();
  const size_t from = text.find(begin), to = text.find(end);
  ASSERT_NE(from, std::string::npos);
  ASSERT_NE(to, std::string::npos);
  if (getenv("KAON_UPDATE_GOLDEN") != nullptr) {
    text.replace(from + begin.size(), to - from - begin.size(), table);
    std::ofstream(path) << text;
    return;
  }
  EXPECT_EQ(text.substr(from + begin.size(), to - from - begin.size()), table)
      << "KAON_UPDATE_GOLDEN=1 writes it into " << path;
}

TEST_F(Campaign, EachCallOfEachFunctionFailsOnce) {
  std::string clean_state;
  const std::map<std::string, int> calls = clean_run(&clean_state);
  ASSERT_GE(calls.size(), 50u) << clean_state;
  ASSERT_EQ(clean_state.substr(0, 8), "launches") << clean_state;
  std::string table =
      "| driver function | calls | failures injected | reported | nothing to report | survived "
      "|\n|---|---|---|---|---|---|\n";
  int sums[5] = {};
  for (const char* symbol : kSymbols) {
    const int count = calls.at(symbol);
    if (count == 0) continue;
    int row[5] = {count, 0, 0, 0, 0};
    for (int nth = 1; nth <= count; ++nth) {
      for (size_t e = 0; e < std::size(kErrors); ++e) {
        // Which error it is changes words; a sanitizer sees each call fail once, with another error than the last.
        if (!kAllCases && e != static_cast<size_t>(nth) % std::size(kErrors)) continue;
        const Error& error = kErrors[e];
        const std::string answer = in_child([&]() -> std::string {
          stub().fail_at(symbol, nth, error.value);
          const Outcome outcome = run_scenario(pack_);
          const std::string wrong = judge(outcome, symbol, error);
          if (!wrong.empty()) return wrong;
          if (scenario_state() != clean_state) return "left behind: " + scenario_state() + ", expected " + clean_state;
          return outcome.failures.empty() ? "silent" : "reported";
        });
        ++row[1];
        row[2] += answer == "reported";
        row[3] += answer == "silent";
        row[4] += answer == "reported" || answer == "silent";
        EXPECT_TRUE(answer == "reported" || answer == "silent")
            << symbol << ", call " << nth << ", " << error.name << ": " << answer;
      }
    }
    table += std::string("| `") + symbol + "`";
    for (int i = 0; i < 5; ++i) {
      table += " | " + std::to_string(row[i]);
      sums[i] += row[i];
    }
    table += " |\n";
  }
  table += "| all";
  for (int sum : sums) table += " | " + std::to_string(sum);
  if (kAllCases) check_readme(table + " |\n");
}

TEST_F(Campaign, AStickyErrorIsReportedByEveryCallAndEndsWithItsCause) {
  for (const Error& error : kErrors) {
    EXPECT_EQ(in_child([&]() -> std::string {
                if (!run_scenario(pack_).failures.empty()) return "the first run failed";
                stub().fail_all(error.value);
                const Outcome sick = run_scenario(pack_);
                if (sick.failures.size() < 10) return std::to_string(sick.failures.size()) + " steps failed";
                for (const std::string& failure : sick.failures) {
                  if (failure.find(error.name) == std::string::npos) return failure;
                }
                stub().fail_all(0);
                const Outcome cured = run_scenario(pack_);
                return cured.failures.empty() ? "cured" : cured.failures[0];
              }),
              "cured")
        << error.name;
  }
}

TEST_F(Campaign, ADriverThatIsTooOldSaysSoAndANewOneIsFound) {
  EXPECT_EQ(
      in_child([&]() -> std::string {
        stub().set_version(11080);
        const Outcome outcome = run_scenario(pack_);
        const std::string first = outcome.failures.empty() ? "ok" : outcome.failures[0];
        stub().set_version(12000);
        const Outcome later = run_scenario(pack_);
        return first + "; then " + (later.failures.empty() ? "ok" : later.failures[0]);
      }),
      "the first call, without a context: no_device: the CUDA driver supports CUDA 11.8, at least 12.0 is needed; "
      "update the NVIDIA driver; then ok");
}

// The stub without one of its functions: the name in its table of symbols is spoilt.
std::string driver_without(const std::string& symbol, const std::string& path) {
  std::ifstream file(KAON_STUB_DRIVER, std::ios::binary);
  std::stringstream stream;
  stream << file.rdbuf();
  std::string bytes = stream.str();
  const std::string whole = std::string("\0", 1) + symbol + std::string("\0", 1);
  bool is_found = false;
  for (size_t at = bytes.find(whole); at != std::string::npos; at = bytes.find(whole, at + 1)) {
    bytes[at + 1] = 'x';
    is_found = true;
  }
  std::ofstream(path, std::ios::binary) << bytes;
  return is_found ? path : "";
}

TEST_F(Campaign, EachFunctionIsMissingInTurn) {
  const std::string path = ::testing::TempDir() + "kaon_driver_" + std::to_string(getpid()) + ".so";
#define KAON_CUDA_FUNCTION(name, symbol, required, parameters)                                                \
  {                                                                                                           \
    ASSERT_EQ(driver_without(symbol, path), path) << symbol;                                                  \
    EXPECT_EQ(in_child([&]() -> std::string {                                                                 \
                const Result<cuda::Driver> driver = cuda::load_driver(path);                                  \
                if (!driver.is_ok()) return driver.status().to_string();                                      \
                return driver->name == nullptr ? "loaded without" : "loaded with";                            \
              }),                                                                                             \
              (required) ? "no_device: " + path + " has no function " symbol "; update to CUDA 12.0 or newer" \
                         : std::string("loaded without"));                                                    \
  }
#include "runtime/driver/cuda_functions.inc"
#undef KAON_CUDA_FUNCTION
  remove(path.c_str());
}

TEST_F(Campaign, WithoutTheOptionalFunctionsOnlyClustersAreRefused) {
  const std::string path = ::testing::TempDir() + "kaon_driver_" + std::to_string(getpid()) + ".so";
  for (const char* symbol : {"cuFuncLoad", "cuLaunchKernelEx"}) {
    ASSERT_EQ(driver_without(symbol, path), path);
    EXPECT_EQ(
        in_child([&]() -> std::string {
          setenv("KAON_CUDA_DRIVER", path.c_str(), 1);
          std::string refused;
          for (const std::string& failure : run_scenario(pack_).failures) {
            if (failure.find("another device") == std::string::npos) refused += failure;  // this stub has one
          }
          return refused;
        }),
        std::string(symbol) == "cuFuncLoad"
            ? ""
            : "a variant with clusters: unsupported: clustered variant 0 (block.m=4), 16 blocks of 128 threads: the "
              "driver has no cuLaunchKernelEx, which clusters need; update the NVIDIA driver")
        << symbol;
  }
  remove(path.c_str());
}

}  // namespace
}  // namespace kaon
