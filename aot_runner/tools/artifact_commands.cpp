// aot_runner emit, report, check: from the files of a finished run, without compiler or device.
#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "aot_runner/report/summary.h"
#include "aot_runner/tools/commands.h"
#include "aot_runner/tune/artifacts.h"
#include "aot_runner/tune/files.h"
#include "aot_runner/tune/kernel_source.h"

namespace kaon::runner {
namespace {

int emit(const std::string& from, const std::string& out) {
  Result<Remade> remade = remake_artifacts(from);
  if (!remade.is_ok()) return fail(remade.status());
  Result<std::vector<std::string>> paths = write_artifacts(remade->artifacts, out.empty() ? remade->folder : out);
  if (!paths.is_ok()) return fail(paths.status());
  for (const std::string& path : *paths) fmt::print("wrote {}\n", path);
  return kExitOk;
}

int report(const std::string& from) {
  Result<Loaded> loaded = load_measurements(from);
  if (!loaded.is_ok()) return fail(loaded.status());
  Result<heuristics::Distilled> distilled = heuristics::fit(loaded->measurements, loaded->training, {});
  if (!distilled.is_ok()) return fail(distilled.status());
  fmt::print("{}", report_text(loaded->measurements, *distilled));
  return kExitOk;
}

/// The .tile of a results folder when none is named: <folder>/../<kernel>.tile.
std::string tile_beside(const std::string& folder, const std::string& kernel) {
  return (std::filesystem::path(folder) / ".." / (kernel + ".tile")).lexically_normal().string();
}

/// 0 fresh, 1 stale or unreadable; says which and what to do.
int check_one(const std::string& folder, const std::string& tile) {
  Result<Loaded> loaded = load_measurements(folder);
  if (!loaded.is_ok()) return fail(loaded.status());
  const heuristics::Measurements& m = loaded->measurements;
  const std::string path = tile.empty() ? tile_beside(folder, m.kernel) : tile;
  Result<std::unique_ptr<KernelSource>> source = KernelSource::open(path, is_checked_hash(m.origin.source_hash));
  if (!source.is_ok()) return fail(source.status());
  const std::string now = (*source)->source_hash();
  if (now != m.origin.source_hash) {
    fmt::print(stderr,
               "{}: stale: made from source {:.12}, but {} is {:.12} now; remake it: aot_runner tune {} --shapes "
               "{}.shapes.json\n",
               folder, m.origin.source_hash, path, now, path, m.kernel);
    return kExitUser;
  }
  Result<Remade> remade = remake_artifacts(folder);
  if (!remade.is_ok()) return fail(remade.status());
  int code = kExitOk;
  for (const auto& [name, bytes] : remade->artifacts.files) {
    const std::string file = remade->folder + "/" + name;
    Result<std::string> found = read_file(file);
    if (!found.is_ok() || *found != bytes) {
      fmt::print(stderr, "{}: is not what its measurements give; remake it: aot_runner emit --from {}\n", file, folder);
      code = kExitUser;
    }
  }
  if (code == kExitOk) fmt::print("{}: up to date with {}\n", folder, path);
  return code;
}

}  // namespace

void add_artifact_commands(CLI::App* app, Action* action) {
  struct Values {
    std::string from, out, tile;
    std::vector<std::string> folders;
  };
  auto values = std::make_shared<Values>();

  CLI::App* emit_command =
      app->add_subcommand("emit", "remake sources, pack and report from measurements.json, byte for byte");
  emit_command
      ->add_option("--from", values->from, "measurements.json or its folder; the old .kpack beside it has the images")
      ->required();
  emit_command->add_option("--out", values->out, "another folder for the results");
  emit_command->callback([=] { *action = [=] { return emit(values->from, values->out); }; });

  CLI::App* report_command = app->add_subcommand("report", "print the summary of a finished run");
  report_command->add_option("--from,from", values->from, "measurements.json or its folder")->required();
  report_command->callback([=] { *action = [=] { return report(values->from); }; });

  CLI::App* check_command =
      app->add_subcommand("check", "is each folder of results still made from its .tile; exit 1 when stale");
  check_command->add_option("folders", values->folders, "folders such as pretuned/softmax/sm90")->required();
  check_command->add_option("--tile", values->tile, "the source (default: <kernel>.tile in the folder above)");
  check_command->callback([=] {
    *action = [=] {
      int code = kExitOk;
      for (const std::string& folder : values->folders) code = std::max(code, check_one(folder, values->tile));
      return code;
    };
  });
}

}  // namespace kaon::runner
