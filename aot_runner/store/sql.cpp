#include "aot_runner/store/sql.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

namespace kaon::runner {
namespace {

constexpr const char* kFullMend =
    "; free some space or set KAON_CACHE_DIR to another disk, what was measured so far is kept";

}  // namespace

Database::~Database() { sqlite3_close(db_); }

Status Database::open(const std::string& path) {
  path_ = path;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_FULLMUTEX;
  if (sqlite3_open_v2(path.c_str(), &db_, flags, nullptr) != SQLITE_OK) return error("open");
  sqlite3_busy_timeout(db_, 20000);
  return Status::ok();
}

Status Database::run(const char* sql) {
  errno = 0;
  if (sqlite3_exec(db_, sql, nullptr, nullptr, nullptr) != SQLITE_OK) return error("write");
  return Status::ok();
}

Status Database::error(const char* doing) const {
  const int left = errno;  // since run() or step() cleared it
  const int kind = db_ == nullptr ? SQLITE_NOMEM : sqlite3_errcode(db_) & 0xff;
  int os_error = db_ == nullptr ? 0 : sqlite3_system_errno(db_);
  // SQLite keeps an errno for itself when opening; a full disk is a code of its own; other writes leave it to the
  // system.
  if (kind == SQLITE_IOERR && left != 0) os_error = left;
  if (kind == SQLITE_FULL && os_error == 0) os_error = ENOSPC;
  std::string words = db_ == nullptr ? "out of memory" : sqlite3_errmsg(db_);
  const char* mend = "";
  Code code = Code::kIo;
  switch (kind) {
    case SQLITE_FULL: mend = kFullMend; break;
    case SQLITE_IOERR: mend = os_error == ENOSPC || os_error == EDQUOT || os_error == EFBIG ? kFullMend : ""; break;
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_PERM: mend = "; make the folder writable or set KAON_CACHE_DIR to one that is"; break;
    case SQLITE_BUSY:
    case SQLITE_LOCKED: mend = "; another process holds the store, wait for it"; break;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      code = Code::kCorrupt;
      mend = "; move the file away, it holds measurements only";
      break;
    default: break;
  }
  if (os_error != 0) words += fmt::format(" (errno {}: {})", os_error, std::strerror(os_error));
  return {code, fmt::format("cannot {} the store {}: {}{}", doing, path_, words, mend)};
}

Statement::Statement(Database* db, const char* sql) : db_(db) {
  // A failure to prepare leaves no statement; the first step() then reports it.
  sqlite3_prepare_v2(db->handle(), sql, -1, &statement_, nullptr);
}

Statement::~Statement() { sqlite3_finalize(statement_); }

Statement& Statement::bind(int position, int64_t value) {
  sqlite3_bind_int64(statement_, position, value);
  return *this;
}

Statement& Statement::bind(int position, double value) {
  sqlite3_bind_double(statement_, position, value);
  return *this;
}

Statement& Statement::bind(int position, std::string_view text) {
  sqlite3_bind_text(statement_, position, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  return *this;
}

Statement& Statement::bind_blob(int position, std::string_view bytes) {
  sqlite3_bind_blob64(statement_, position, bytes.data(), bytes.size(), SQLITE_TRANSIENT);
  return *this;
}

Result<bool> Statement::step() {
  if (statement_ == nullptr) return db_->error("read");
  errno = 0;
  const int result = sqlite3_step(statement_);
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  return db_->error(sqlite3_stmt_readonly(statement_) ? "read" : "write");
}

Status Statement::finish() {
  Result<bool> row = step();
  if (statement_ != nullptr) sqlite3_reset(statement_);
  return row.is_ok() ? Status::ok() : row.status();
}

std::string Statement::column_text(int column) const {
  const void* bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  return bytes == nullptr ? std::string() : std::string(static_cast<const char*>(bytes), static_cast<size_t>(size));
}

Transaction::~Transaction() {
  if (open_) sqlite3_exec(db_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Status Transaction::begin() {
  KAON_RETURN_IF_ERROR(db_->run("BEGIN IMMEDIATE"));
  open_ = true;
  return Status::ok();
}

Status Transaction::commit() {
  KAON_RETURN_IF_ERROR(db_->run("COMMIT"));
  open_ = false;
  return Status::ok();
}

}  // namespace kaon::runner
