// aot_runner explain: from the measurements of a run, or from packs alone for any chip.
#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <memory>

#include "aot_runner/report/packs.h"
#include "aot_runner/report/summary.h"
#include "aot_runner/tools/commands.h"
#include "aot_runner/tune/artifacts.h"

namespace kaon::runner {
namespace {

int fail(const Status& status) {
  fmt::print(stderr, "error: {}\n", status.message());
  return kExitUser;
}

/// "4096x1024" or "4096,1024".
Result<std::vector<int64_t>> parse_shape(const std::string& text) {
  std::vector<int64_t> dims;
  const char* at = text.data();
  const char* end = at + text.size();
  while (at < end) {
    int64_t value = 0;
    const auto [next, error] = std::from_chars(at, end, value);
    const bool separated = next == end || *next == 'x' || *next == ',';
    if (error != std::errc() || value < 0 || !separated) {
      return Status(Code::kInvalidArgument,
                    fmt::format("--shape '{}': expected whole numbers of at least 0 such as 4096x1024", text));
    }
    dims.push_back(value);
    at = next == end ? end : next + 1;
  }
  return dims;
}

struct Values {
  std::string from, shape, dtypes;
  std::string kernel, facts;
  std::vector<std::string> packs;
};

/// From measurements.json: the choice with its rivals' times.
Status explain_measurements(const Values& values) {
  KAON_ASSIGN_OR_RETURN(const Loaded loaded, load_measurements(values.from));
  KAON_ASSIGN_OR_RETURN(const heuristics::Distilled distilled,
                        heuristics::fit(loaded.measurements, loaded.training, {}));
  KAON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, parse_shape(values.shape));
  KAON_ASSIGN_OR_RETURN(const std::string text, explain_text(loaded.measurements, distilled, values.dtypes, dims));
  fmt::print("{}", text);
  const std::string pack = loaded.folder + "/" + pack_file_name(loaded.measurements);
  if (!std::filesystem::exists(pack)) return Status::ok();  // measurements alone explain a choice
  KAON_ASSIGN_OR_RETURN(const std::string images, images_text(pack, values.dtypes));
  fmt::print("{}", images);
  return Status::ok();
}

/// From packs: what a serving program would do on that chip.
Status explain_packs(const Values& values) {
  KAON_ASSIGN_OR_RETURN(const std::vector<int64_t> dims, parse_shape(values.shape));
  KAON_ASSIGN_OR_RETURN(const DeviceFacts facts, facts_by_name(values.facts));
  KAON_ASSIGN_OR_RETURN(KernelEntry * kernel, open_packs(values.kernel, values.packs));
  KAON_ASSIGN_OR_RETURN(const std::string dtypes, only_dtypes(*kernel, values.dtypes));
  KAON_ASSIGN_OR_RETURN(const std::string text, kernel->explain_shape(facts, dtypes, dims));
  fmt::print("{}", text);
  return Status::ok();
}

int explain(const Values& values) {
  if (values.from.empty() == values.kernel.empty()) {
    fmt::print(stderr,
               "error: explain takes either --from, for the measurements of a run, or --kernel with "
               "--device-facts, for packs\n");
    return kExitUsage;
  }
  if (!values.from.empty() && (!values.facts.empty() || !values.packs.empty())) {
    fmt::print(stderr, "error: --device-facts and --packs go with --kernel; measurements are of their own device\n");
    return kExitUsage;
  }
  const Status status = values.from.empty() ? explain_packs(values) : explain_measurements(values);
  return status.is_ok() ? kExitOk : fail(status);
}

}  // namespace

void add_explain_command(CLI::App* app, Action* action) {
  auto values = std::make_shared<Values>();
  CLI::App* command = app->add_subcommand("explain", "print why a shape gets its variant, and its rivals");
  command->add_option("--from", values->from, "measurements.json or its folder: with the times of the rivals");
  command->add_option("--kernel", values->kernel, "a kernel, from packs alone: what would serve, on any chip");
  command->add_option("--shape", values->shape, "values of the kernel's dims: 4096x1024")->required();
  command->add_option("--dtypes,--dtype", values->dtypes, "f16; may be left out when there is one table");
  command->add_option("--device-facts", values->facts, "the chip that is asked about, here or not: sm_120, host");
  command->add_option("--packs", values->packs,
                      "packs, or folders that hold some, before those of $KAON_HEURISTIC_DIR and the pretuned ones");
  command->callback([=] { *action = [=] { return explain(*values); }; });
}

}  // namespace kaon::runner
