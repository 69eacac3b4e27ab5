#include "aot_runner/tune/artifacts.h"

#include <fmt/format.h>

#include <filesystem>

#include "aot_runner/tune/files.h"
#include "heuristics/emit_cpp.h"
#include "heuristics/report.h"
#include "runtime/launch/pack.h"
#include "runtime/launch/pack_format.h"

namespace kaon::runner {
namespace {

constexpr const char* kMeasurementsFile = "measurements.json";
constexpr const char* kTrainingFile = "training.json";
// Does not name a folder: the bytes must not depend on where the files lie.
constexpr const char* kRemakeCommand = "aot_runner emit --from measurements.json";

Result<heuristics::ImageTable> gather_images(const heuristics::Measurements& measurements,
                                             const heuristics::Distilled& distilled, const ImageSource& images) {
  heuristics::ImageTable all;
  for (const heuristics::DistilledTable& table : distilled.tables) {
    const heuristics::Table& source = measurements.tables[static_cast<size_t>(table.table)];
    std::vector<std::vector<heuristics::VariantImage>> variants;
    for (const heuristics::VariantEvidence& evidence : table.variants) {
      const Config& config = source.configs[static_cast<size_t>(evidence.config)].variant.config;
      KAON_ASSIGN_OR_RETURN(std::vector<heuristics::VariantImage> found, images(table.table, config));
      variants.push_back(std::move(found));
    }
    all.push_back(std::move(variants));
  }
  return all;
}

/// Images of an existing pack by dtypes and config.
Result<std::vector<heuristics::VariantImage>> images_in_pack(const PackContents& pack, const std::string& dtypes,
                                                             const Config& config) {
  for (const PackTable& table : pack.records.tables) {
    if (table.dtype_key != dtypes) continue;
    for (const PackVariant& variant : table.variants) {
      if (!(variant.info.config == config)) continue;
      std::vector<heuristics::VariantImage> images;
      for (const ImageRef& ref : variant.images) {
        const PackImage& image = pack.images[ref.image];
        images.push_back({image.target, image.kind, ref.trust, image.bytes});
      }
      return images;
    }
  }
  return Status(Code::kNotFound, fmt::format("the old pack has no images of {} {}; run `aot_runner tune` again", dtypes,
                                             config.to_text()));
}

/// "sm_90 measured here; sm_120 cross-compiled, not run".
std::string image_list(const PackContents& pack, const PackVariant& variant) {
  std::string list;
  for (const ImageRef& ref : variant.images) {
    list +=
        fmt::format("{}{} {}", list.empty() ? "" : "; ", pack.images[ref.image].target, image_trust_name(ref.trust));
  }
  return list;
}

bool is_pack(const std::string& path, const std::string& bytes) {
  const bool has_name = std::filesystem::path(path).extension() == ".kpack";
  return has_name || bytes.compare(0, sizeof kPackMagic, kPackMagic, sizeof kPackMagic) == 0;
}

/// A pack was named where measurements are wanted; whether the pack itself is whole may be what was asked.
Status named_a_pack(const std::string& path, const std::string& folder, const std::string& bytes) {
  const Result<PackContents> pack = read_pack_contents(bytes);
  const std::string state = pack.is_ok() ? "is a pack" : "is a damaged pack: " + pack.status().message();
  return Status(
      Code::kInvalidArgument,
      fmt::format("{} {}; what is read here are the measurements that it was made from: name {}/{} or its folder", path,
                  state, folder, kMeasurementsFile));
}

}  // namespace

std::string pack_file_name(const heuristics::Measurements& measurements) {
  return heuristics::artifact_name(measurements) + ".kpack";
}

Result<Artifacts> make_artifacts(const heuristics::Measurements& measurements, const heuristics::TrainingSet& training,
                                 const ImageSource& images) {
  Artifacts artifacts;
  KAON_ASSIGN_OR_RETURN(artifacts.distilled, heuristics::fit(measurements, training, {}));
  KAON_ASSIGN_OR_RETURN(const heuristics::ImageTable table, gather_images(measurements, artifacts.distilled, images));
  const std::string& date = measurements.origin.date;
  KAON_ASSIGN_OR_RETURN(const PackContents contents,
                        heuristics::make_pack(measurements, artifacts.distilled, table, date));
  KAON_ASSIGN_OR_RETURN(std::string pack, write_pack(contents));
  artifacts.pack_bytes = static_cast<int64_t>(pack.size());
  const heuristics::EmitFacts facts{date, kRemakeCommand, pack_hash(pack.data(), pack.size())};
  artifacts.report = heuristics::write_report(measurements, artifacts.distilled, {date, artifacts.pack_bytes});
  const std::string name = heuristics::artifact_name(measurements);
  // The source comes last: whoever finds it finds the pack that it names.
  artifacts.files.emplace_back(kMeasurementsFile, heuristics::write_measurements(measurements));
  artifacts.files.emplace_back(kTrainingFile, heuristics::write_training(training));
  artifacts.files.emplace_back("report.json", artifacts.report);
  artifacts.files.emplace_back(name + "_pack.S", heuristics::emit_embed(measurements));
  artifacts.files.emplace_back(name + ".kpack", std::move(pack));
  artifacts.files.emplace_back(name + ".gen.cpp", heuristics::emit_cpp(measurements, artifacts.distilled, facts));
  return artifacts;
}

Result<std::vector<std::string>> write_artifacts(const Artifacts& artifacts, const std::string& folder) {
  std::vector<std::string> paths;
  std::vector<std::pair<std::string, std::string>> files;
  for (const auto& [name, bytes] : artifacts.files) {
    paths.push_back(folder + "/" + name);
    files.emplace_back(paths.back(), bytes);
  }
  KAON_RETURN_IF_ERROR(write_files(files));
  return paths;
}

Result<Loaded> load_measurements(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path file = fs::is_directory(path) ? fs::path(path) / kMeasurementsFile : fs::path(path);
  Loaded loaded;
  loaded.folder = file.has_parent_path() ? file.parent_path().string() : ".";
  KAON_ASSIGN_OR_RETURN(const std::string text, read_file(file.string()));
  if (is_pack(file.string(), text)) return named_a_pack(file.string(), loaded.folder, text);
  KAON_ASSIGN_OR_RETURN(loaded.measurements, heuristics::read_measurements(text, file.string()));
  const fs::path training = fs::path(loaded.folder) / kTrainingFile;
  if (!fs::exists(training)) {
    KAON_ASSIGN_OR_RETURN(loaded.training, heuristics::make_training(loaded.measurements, {}));
    return loaded;
  }
  KAON_ASSIGN_OR_RETURN(const std::string table, read_file(training.string()));
  KAON_ASSIGN_OR_RETURN(loaded.training, heuristics::read_training(table, training.string()));
  return loaded;
}

Result<std::string> images_text(const std::string& pack_path, const std::string& dtypes) {
  KAON_ASSIGN_OR_RETURN(const std::string bytes, read_file(pack_path));
  Result<PackContents> pack = read_pack_contents(bytes);
  if (!pack.is_ok()) return Status(pack.status().code(), pack_path + ": " + pack.status().message());
  std::string text = fmt::format("images in {}:\n", pack_path);
  for (const PackTable& table : pack->records.tables) {
    if (!dtypes.empty() && table.dtype_key != dtypes) continue;
    for (size_t v = 0; v < table.variants.size(); ++v) {
      text += fmt::format("  variant {}: {}\n", v, image_list(*pack, table.variants[v]));
    }
  }
  return text;
}

Result<Remade> remake_artifacts(const std::string& measurements_path) {
  KAON_ASSIGN_OR_RETURN(Loaded loaded, load_measurements(measurements_path));
  const std::string pack_path = loaded.folder + "/" + pack_file_name(loaded.measurements);
  Result<std::string> bytes = read_file(pack_path);
  if (!bytes.is_ok()) {
    return Status(Code::kNotFound,
                  fmt::format("{}; the images come from the old pack, so put it beside {} or run `aot_runner tune`",
                              bytes.status().message(), measurements_path));
  }
  Result<PackContents> pack = read_pack_contents(*bytes);
  if (!pack.is_ok()) return Status(pack.status().code(), pack_path + ": " + pack.status().message());
  Remade remade;
  remade.folder = loaded.folder;
  KAON_ASSIGN_OR_RETURN(
      remade.artifacts, make_artifacts(loaded.measurements, loaded.training, [&](int table, const Config& config) {
        return images_in_pack(*pack, loaded.measurements.tables[static_cast<size_t>(table)].dtype_key(), config);
      }));
  return remade;
}

}  // namespace kaon::runner
