#include "aot_runner/store/store.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "aot_runner/store/sql.h"

namespace kaon::runner {
namespace {

constexpr int64_t kSchemaVersion = 1;
constexpr const char* kSchema = R"sql(
CREATE TABLE IF NOT EXISTS contexts(id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS configs(id INTEGER PRIMARY KEY, json TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS images(hash TEXT PRIMARY KEY, bytes BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS variants(
  context INTEGER NOT NULL, config INTEGER NOT NULL, code INTEGER NOT NULL, message TEXT NOT NULL, info TEXT NOT NULL,
  resources TEXT NOT NULL, image TEXT NOT NULL, seconds REAL NOT NULL, PRIMARY KEY(context, config)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS cells(
  context INTEGER NOT NULL, config INTEGER NOT NULL, shape TEXT NOT NULL, pass INTEGER NOT NULL, failure TEXT NOT NULL,
  message TEXT NOT NULL, median_us REAL NOT NULL, mad_us REAL NOT NULL, min_us REAL NOT NULL, bytes REAL NOT NULL,
  samples INTEGER NOT NULL, clock_mhz INTEGER NOT NULL, throttled INTEGER NOT NULL, seconds REAL NOT NULL,
  PRIMARY KEY(context, config, shape, pass)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS facts(
  context INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, PRIMARY KEY(context, name)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS runs(
  key TEXT PRIMARY KEY, date TEXT NOT NULL, complete INTEGER NOT NULL, starts INTEGER NOT NULL) WITHOUT ROWID;
)sql";

Status make_folder(const std::string& directory) {
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error) {
    return {Code::kIo, fmt::format("cannot make the folder {}: errno {}: {}; set KAON_CACHE_DIR to a writable folder", directory,
                                   error.value(), error.message())};
  }
  return Status::ok();
}

uint64_t fnv1a(const std::string& bytes, uint64_t hash, uint64_t prime) {
  for (const char c : bytes) hash = (hash ^ static_cast<unsigned char>(c)) * prime;
  return hash;
}

}  // namespace

struct Store::Impl {
  Database db;
  std::string path;

  Result<int64_t> intern(const char* insert, const char* select, const std::string& text) {
    KAON_RETURN_IF_ERROR(Statement(&db, insert).bind(1, text).finish());
    Statement find(&db, select);
    find.bind(1, text);
    KAON_ASSIGN_OR_RETURN(const bool found, find.step());
    if (!found) return Status(Code::kInternal, "store: an interned row is missing");
    return find.column_int(0);
  }
  Result<int64_t> config_id(const Config& config) {
    return intern("INSERT OR IGNORE INTO configs(json) VALUES(?)", "SELECT id FROM configs WHERE json = ?", config.to_json());
  }
  Status set_up();
};

Status Store::Impl::set_up() {
  int64_t found = 0;
  {
    Statement version(&db, "PRAGMA user_version");  // ends here: WAL cannot be set while a statement reads
    KAON_ASSIGN_OR_RETURN(const bool has_row, version.step());
    found = has_row ? version.column_int(0) : 0;
  }
  if (found != 0 && found != kSchemaVersion) {
    return {Code::kCorrupt, fmt::format("the store {} has format {}, this program writes {}; move it away or set KAON_CACHE_DIR", path,
                                        found, kSchemaVersion)};
  }
  if (!path.empty()) KAON_RETURN_IF_ERROR(db.run("PRAGMA journal_mode=WAL"));
  KAON_RETURN_IF_ERROR(db.run("PRAGMA synchronous=NORMAL"));
  if (found == kSchemaVersion) return Status::ok();
  Transaction transaction(&db);
  KAON_RETURN_IF_ERROR(transaction.begin());
  KAON_RETURN_IF_ERROR(db.run(kSchema));
  KAON_RETURN_IF_ERROR(db.run(fmt::format("PRAGMA user_version={}", kSchemaVersion).c_str()));
  return transaction.commit();
}

Store::Store(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Store::~Store() = default;
const std::string& Store::path() const { return impl_->path; }

Result<std::unique_ptr<Store>> Store::open(const std::string& directory) {
  auto impl = std::make_unique<Impl>();
  if (!directory.empty()) {
    KAON_RETURN_IF_ERROR(make_folder(directory));
    impl->path = directory + "/tuning.sqlite";
  }
  KAON_RETURN_IF_ERROR(impl->db.open(directory.empty() ? ":memory:" : impl->path));
  KAON_RETURN_IF_ERROR(impl->set_up());
  return std::unique_ptr<Store>(new Store(std::move(impl)));
}

Result<int64_t> Store::context(const std::string& text) {
  return impl_->intern("INSERT OR IGNORE INTO contexts(text) VALUES(?)", "SELECT id FROM contexts WHERE text = ?", text);
}

Status Store::put_variant(int64_t context, const StoredVariant& v, const std::string& image) {
  Transaction transaction(&impl_->db);
  KAON_RETURN_IF_ERROR(transaction.begin());
  if (v.code == Code::kOk) {
    Statement put(&impl_->db, "INSERT OR IGNORE INTO images(hash, bytes) VALUES(?, ?)");
    KAON_RETURN_IF_ERROR(put.bind(1, v.image_hash).bind_blob(2, image).finish());
  }
  KAON_ASSIGN_OR_RETURN(const int64_t config, impl_->config_id(v.config));
  Statement put(&impl_->db, "INSERT OR REPLACE INTO variants VALUES(?, ?, ?, ?, ?, ?, ?, ?)");
  put.bind(1, context).bind(2, config).bind(3, static_cast<int64_t>(v.code)).bind(4, v.message).bind(5, v.info);
  put.bind(6, v.resources).bind(7, v.image_hash).bind(8, v.seconds);
  KAON_RETURN_IF_ERROR(put.finish());
  return transaction.commit();
}

Result<std::optional<StoredVariant>> Store::find_variant(int64_t context, const Config& config) {
  Statement find(&impl_->db,
                 "SELECT code, message, info, resources, image, seconds FROM variants "
                 "WHERE context = ? AND config = (SELECT id FROM configs WHERE json = ?)");
  find.bind(1, context).bind(2, config.to_json());
  KAON_ASSIGN_OR_RETURN(const bool found, find.step());
  if (!found) return std::optional<StoredVariant>();
  return std::optional<StoredVariant>(StoredVariant{config, static_cast<Code>(find.column_int(0)), find.column_text(1),
                                                    find.column_text(2), find.column_text(3), find.column_text(4),
                                                    find.column_double(5)});
}

Result<std::vector<StoredVariant>> Store::variants(int64_t context) {
  Statement find(&impl_->db,
                 "SELECT json, code, message, info, resources, image, seconds FROM variants "
                 "JOIN configs ON configs.id = variants.config WHERE context = ? ORDER BY json");
  find.bind(1, context);
  std::vector<StoredVariant> rows;
  for (;;) {
    KAON_ASSIGN_OR_RETURN(const bool found, find.step());
    if (!found) return rows;
    KAON_ASSIGN_OR_RETURN(Config config, Config::from_json(find.column_text(0)));
    rows.push_back({std::move(config), static_cast<Code>(find.column_int(1)), find.column_text(2), find.column_text(3),
                    find.column_text(4), find.column_text(5), find.column_double(6)});
  }
}

Result<std::string> Store::image(const std::string& hash) {
  Statement find(&impl_->db, "SELECT bytes FROM images WHERE hash = ?");
  find.bind(1, hash);
  KAON_ASSIGN_OR_RETURN(const bool found, find.step());
  if (!found) return Status(Code::kNotFound, fmt::format("the store {} has no image {}", impl_->path, hash));
  std::string bytes = find.column_text(0);
  if (content_hash(bytes) != hash) {
    return Status(Code::kCorrupt, fmt::format("the store {}: image {} is damaged; move the file away", impl_->path, hash));
  }
  return bytes;
}

Status Store::put_cells(int64_t context, const std::vector<StoredCell>& cells) {
  if (cells.empty()) return Status::ok();
  Transaction transaction(&impl_->db);
  KAON_RETURN_IF_ERROR(transaction.begin());
  for (const StoredCell& c : cells) {
    KAON_ASSIGN_OR_RETURN(const int64_t config, impl_->config_id(c.config));
    Statement put(&impl_->db, "INSERT OR IGNORE INTO cells VALUES(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)");
    put.bind(1, context).bind(2, config).bind(3, c.shape).bind(4, c.pass).bind(5, failure_name(c.failure)).bind(6, c.message);
    put.bind(7, c.median_us).bind(8, c.mad_us).bind(9, c.min_us).bind(10, c.bytes).bind(11, c.samples).bind(12, c.clock_mhz);
    put.bind(13, c.throttled ? 1 : 0).bind(14, c.seconds);
    KAON_RETURN_IF_ERROR(put.finish());
  }
  return transaction.commit();
}

Result<std::vector<StoredCell>> Store::cells(int64_t context) {
  Statement find(&impl_->db,
                 "SELECT json, shape, pass, failure, message, median_us, mad_us, min_us, bytes, samples, clock_mhz, throttled, "
                 "seconds FROM cells JOIN configs ON configs.id = cells.config WHERE context = ? ORDER BY json, shape, pass");
  find.bind(1, context);
  std::vector<StoredCell> rows;
  for (;;) {
    KAON_ASSIGN_OR_RETURN(const bool found, find.step());
    if (!found) return rows;
    StoredCell cell;
    KAON_ASSIGN_OR_RETURN(cell.config, Config::from_json(find.column_text(0)));
    cell.shape = find.column_text(1);
    cell.pass = static_cast<int>(find.column_int(2));
    if (!parse_failure(find.column_text(3), &cell.failure)) {
      return Status(Code::kCorrupt, fmt::format("the store {} has a cell of unknown kind '{}'", impl_->path, find.column_text(3)));
    }
    cell.message = find.column_text(4);
    cell.median_us = find.column_double(5);
    cell.mad_us = find.column_double(6);
    cell.min_us = find.column_double(7);
    cell.bytes = find.column_double(8);
    cell.samples = static_cast<int>(find.column_int(9));
    cell.clock_mhz = static_cast<int>(find.column_int(10));
    cell.throttled = find.column_int(11) != 0;
    cell.seconds = find.column_double(12);
    rows.push_back(std::move(cell));
  }
}

Status Store::forget_cells(int64_t context) {
  return Statement(&impl_->db, "DELETE FROM cells WHERE context = ?").bind(1, context).finish();
}

Status Store::put_fact(int64_t context, const std::string& name, const std::string& value) {
  return Statement(&impl_->db, "INSERT OR REPLACE INTO facts VALUES(?, ?, ?)").bind(1, context).bind(2, name).bind(3, value).finish();
}

Result<std::optional<std::string>> Store::find_fact(int64_t context, const std::string& name) {
  Statement find(&impl_->db, "SELECT value FROM facts WHERE context = ? AND name = ?");
  find.bind(1, context).bind(2, name);
  KAON_ASSIGN_OR_RETURN(const bool found, find.step());
  return found ? std::optional<std::string>(find.column_text(0)) : std::nullopt;
}

Result<StoredRun> Store::begin_run(const std::string& key, const std::string& date) {
  Statement put(&impl_->db,
                "INSERT INTO runs VALUES(?, ?, 0, 1) ON CONFLICT(key) DO UPDATE SET starts = starts + (1 - complete)");
  KAON_RETURN_IF_ERROR(put.bind(1, key).bind(2, date).finish());
  Statement find(&impl_->db, "SELECT date, complete, starts FROM runs WHERE key = ?");
  find.bind(1, key);
  KAON_ASSIGN_OR_RETURN(const bool found, find.step());
  if (!found) return Status(Code::kInternal, "store: a run is missing after it was written");
  return StoredRun{key, find.column_text(0), find.column_int(1) != 0, static_cast<int>(find.column_int(2)) - 1};
}

Status Store::complete_run(const std::string& key) {
  return Statement(&impl_->db, "UPDATE runs SET complete = 1 WHERE key = ?").bind(1, key).finish();
}

Result<StoreUsage> Store::usage() {
  StoreUsage usage;
  const struct {
    const char* sql;
    int64_t* out;
  } counts[] = {{"SELECT count(*) FROM contexts", &usage.contexts},
                {"SELECT count(*) FROM variants", &usage.variants},
                {"SELECT count(*) FROM variants WHERE code != 0", &usage.rejected},
                {"SELECT count(*) FROM images", &usage.images},
                {"SELECT coalesce(sum(length(bytes)), 0) FROM images", &usage.image_bytes},
                {"SELECT count(*) FROM cells", &usage.cells},
                {"SELECT count(*) FROM cells WHERE failure NOT IN ('none', 'guard')", &usage.failed_cells},
                {"SELECT count(*) FROM runs", &usage.runs}};
  for (const auto& count : counts) {
    Statement find(&impl_->db, count.sql);
    KAON_ASSIGN_OR_RETURN(const bool found, find.step());
    if (found) *count.out = find.column_int(0);
  }
  struct stat info {};
  if (!impl_->path.empty() && ::stat(impl_->path.c_str(), &info) == 0) usage.file_bytes = info.st_size;
  return usage;
}

Status Store::prune(const std::string& keep) {
  Transaction transaction(&impl_->db);
  KAON_RETURN_IF_ERROR(transaction.begin());
  KAON_RETURN_IF_ERROR(Statement(&impl_->db, "DELETE FROM contexts WHERE instr(text, ?) = 0 AND text NOT LIKE '{\"device\"%'").bind(1, keep).finish());
  for (const char* sql : {"DELETE FROM variants WHERE context NOT IN (SELECT id FROM contexts)",
                          "DELETE FROM cells WHERE context NOT IN (SELECT id FROM contexts)",
                          "DELETE FROM facts WHERE context NOT IN (SELECT id FROM contexts)",
                          "DELETE FROM images WHERE hash NOT IN (SELECT image FROM variants)",
                          "DELETE FROM configs WHERE id NOT IN (SELECT config FROM variants UNION SELECT config FROM cells)"}) {
    KAON_RETURN_IF_ERROR(impl_->db.run(sql));
  }
  KAON_RETURN_IF_ERROR(transaction.commit());
  return impl_->db.run("VACUUM");
}

std::string content_hash(const std::string& bytes) {
  // Two FNV-1a of different offsets and a length: a key for a cache that nobody attacks.
  const uint64_t a = fnv1a(bytes, 0xcbf29ce484222325ull, 0x100000001b3ull);
  const uint64_t b = fnv1a(bytes, 0x84222325cbf29ce4ull ^ bytes.size(), 0x100000001b3ull);
  return fmt::format("{:016x}{:016x}", a, b);
}

}  // namespace kaon::runner
