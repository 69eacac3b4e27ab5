// The files that a run leaves: sources, pack, measurements, training table, report; remade byte for byte from each
// other.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "heuristics/distill.h"
#include "heuristics/emit_pack.h"
#include "heuristics/table.h"

namespace kaon::runner {

/// Images of variant `config` of tables[table]: the target's own and any cross-compiled.
using ImageSource = std::function<Result<std::vector<heuristics::VariantImage>>(int table, const Config& config)>;

struct Artifacts {
  heuristics::Distilled distilled;
  std::vector<std::pair<std::string, std::string>> files;  // name in the folder, bytes
  std::string report;                                      // report.json
  int64_t pack_bytes = 0;
};

/// All files from measurements, training table and images: a pure function. The date is that of the measurements.
Result<Artifacts> make_artifacts(const heuristics::Measurements& measurements, const heuristics::TrainingSet& training,
                                 const ImageSource& images);

/// Replaces the files when all are on the disk, the source last. Returns the paths.
Result<std::vector<std::string>> write_artifacts(const Artifacts& artifacts, const std::string& folder);

/// What `emit --from` does: everything from measurements.json, with training.json and the images of the old pack beside
/// it. kNotFound without the old pack: the source names its hash, and images cannot be made from measurements.
struct Remade {
  Artifacts artifacts;
  std::string folder;
};
Result<Remade> remake_artifacts(const std::string& measurements_path);

/// Reads measurements.json (and training.json if it is there, else makes it) of a folder or of the file itself.
struct Loaded {
  heuristics::Measurements measurements;
  heuristics::TrainingSet training;
  std::string folder;
};
Result<Loaded> load_measurements(const std::string& path);

/// A line per variant of the pack: its targets, each measured or cross-compiled. Empty `dtypes` stand for all.
Result<std::string> images_text(const std::string& pack_path, const std::string& dtypes);

/// "softmax_sm90.kpack" and its like.
std::string pack_file_name(const heuristics::Measurements& measurements);

}  // namespace kaon::runner
