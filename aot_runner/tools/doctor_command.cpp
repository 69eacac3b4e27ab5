// aot_runner doctor.
#include <fmt/format.h>

#include <memory>

#include "aot_runner/report/doctor.h"
#include "aot_runner/tools/commands.h"

namespace kaon::runner {

void add_doctor_command(CLI::App* app, Action* action) {
  struct Values {
    bool is_json = false;
    std::vector<std::string> packs;
  };
  auto values = std::make_shared<Values>();
  CLI::App* command = app->add_subcommand(
      "doctor", "what this machine has for serving and tuning, and what to do about what is missing; exit 1 for that");
  command->add_option("packs", values->packs,
                      "packs, or folders that hold some, besides those of $KAON_HEURISTIC_DIR and the pretuned ones");
  command->add_flag("--json", values->is_json, "one JSON object instead of text");
  command->callback([=] {
    *action = [=] {
      const Findings findings = examine(values->packs);
      fmt::print("{}", values->is_json ? findings_json(findings) : findings_text(findings));
      return findings.problems.empty() ? kExitOk : kExitUser;
    };
  });
}

}  // namespace kaon::runner
