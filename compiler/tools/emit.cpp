#include "compiler/tools/emit.h"

#include <algorithm>

#include "compiler/config/config_space.h"
#include "compiler/ir/printer.h"
#include "compiler/support/near_miss.h"
#include "compiler/target/target.h"

namespace kaon::compiler {
namespace {

const char* const kStages[] = {"ast", "ir", "laid-out", "staged", "llvm", "ptx", "cubin", "resources"};

std::string joined(const std::vector<std::string>& list) {
  std::string text;
  for (const std::string& item : list) text += (text.empty() ? "" : ", ") + item;
  return text;
}

std::string knob_table(const ConfigSpace& space) {
  std::string out;
  for (const Knob& knob : space.knobs()) {
    out += knob.name + " = " + knob.default_value + "    " + knob.help + "\n    " + joined(knob.choices) + "\n";
  }
  return out;
}

}  // namespace

Outcome emit(const Input& input, const EmitOptions& options) {
  if (std::find(std::begin(kStages), std::end(kStages), options.stage) == std::end(kStages)) {
    const std::vector<std::string> stages(std::begin(kStages), std::end(kStages));
    return Outcome::usage("--emit=" + options.stage + ": expected one of " + joined(stages));
  }
  if (options.stage == "ast") {
    if (input.is_ir()) return Outcome::usage("--emit=ast needs a .tile file; textual IR has no syntax tree");
    return Outcome::text(input.program()->dump_ast());
  }
  const Result<Target> target = find_target(options.target);
  if (!target) return Outcome::usage(target.status().message());
  std::vector<BoundKernel> kernels;
  Outcome outcome = input.kernel(&kernels, /*all_bindings=*/options.stage == "resources");
  if (outcome.exit_code != kExitOk) return outcome;
  const Kernel& kernel = kernels.front().kernel;
  if (options.list_knobs) return Outcome::text(knob_table(ConfigSpace(kernel, *target)));
  return Outcome::text(print(kernel));
}

}  // namespace kaon::compiler
