// What earlier runs learnt: compiled variants with their images, measured cells, and the runs themselves, in one SQLite
// file that survives a kill at any moment.
//
// A *context* is a text that holds all that could change an answer (see keys.h); rows belong to a context, so nothing
// is ever found under circumstances other than its own. Every put is one committed transaction.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "aot_runner/measure/protocol.h"
#include "runtime/base/config.h"
#include "runtime/base/status.h"

namespace kaon::runner {

/// One attempt to compile a config; code kOk means that info, resources and image_hash are set.
struct StoredVariant {
  Config config;
  Code code = Code::kOk;
  std::string message;     // why it was rejected
  std::string info;        // VariantInfo as JSON
  std::string resources;   // Resources as JSON
  std::string image_hash;  // key of the image
  double seconds = 0;      // charged to the search's budget
};

/// One config on one shape in one pass.
struct StoredCell {
  Config config;
  std::string shape;       // shape_text()
  int pass = 0;
  Failure failure = Failure::kNone;
  std::string message;
  double median_us = 0;
  double mad_us = 0;
  double min_us = 0;
  double bytes = 0;
  int samples = 0;
  int clock_mhz = 0;
  bool throttled = false;
  double seconds = 0;      // charged to the search's budget
};

struct StoredRun {
  std::string key;
  std::string date;        // of its first start, "2026-12-01"
  bool complete = false;
  int interruptions = 0;   // starts that found it incomplete
};

struct StoreUsage {
  int64_t contexts = 0, variants = 0, rejected = 0, images = 0, image_bytes = 0, cells = 0, failed_cells = 0, runs = 0;
  int64_t file_bytes = 0;
};

class Store {
 public:
  /// Opens or creates `directory`/tuning.sqlite; an empty directory name gives a store in memory. kIo with path and
  /// errno, kCorrupt for a file that is no store or is damaged, with the mend.
  static Result<std::unique_ptr<Store>> open(const std::string& directory);
  ~Store();

  /// Id of the context of that text, made if needed.
  Result<int64_t> context(const std::string& text);

  Status put_variant(int64_t context, const StoredVariant& variant, const std::string& image);
  Result<std::optional<StoredVariant>> find_variant(int64_t context, const Config& config);
  Result<std::vector<StoredVariant>> variants(int64_t context);
  /// kCorrupt when the bytes do not hash to their key, kNotFound when there are none.
  Result<std::string> image(const std::string& hash);

  /// All of them in one transaction.
  Status put_cells(int64_t context, const std::vector<StoredCell>& cells);
  /// Ordered by config, shape, pass.
  Result<std::vector<StoredCell>> cells(int64_t context);
  Status forget_cells(int64_t context);

  /// A note of a context, such as its calibration.
  Status put_fact(int64_t context, const std::string& name, const std::string& value);
  Result<std::optional<std::string>> find_fact(int64_t context, const std::string& name);

  /// Starts or resumes a run: `date` is kept only when the run is new.
  Result<StoredRun> begin_run(const std::string& key, const std::string& date);
  Status complete_run(const std::string& key);

  Result<StoreUsage> usage();
  /// Removes rows of every context whose text does not contain `keep`, but for facts about devices; and unused images.
  Status prune(const std::string& keep);
  const std::string& path() const;

 private:
  struct Impl;
  explicit Store(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// Key of an image: 32 hex digits over its bytes.
std::string content_hash(const std::string& bytes);

}  // namespace kaon::runner
