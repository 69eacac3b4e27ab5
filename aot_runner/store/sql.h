// A thin, checked face on SQLite: statements that bind and step, errors with the path and errno.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace kaon::runner {

class Database {
 public:
  Database() = default;
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  Status open(const std::string& path);
  Status run(const char* sql);
  /// The error of the last call as a Status: code by kind, path, SQLite's words, errno's words.
  Status error(const char* doing) const;
  sqlite3* handle() const { return db_; }
  const std::string& path() const { return path_; }

 private:
  sqlite3* db_ = nullptr;
  std::string path_;
};

/// One prepared statement. Binding positions and columns count from 1 and 0 as SQLite's do.
class Statement {
 public:
  Statement(Database* db, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  Statement& bind(int position, int64_t value);
  Statement& bind(int position, int value) { return bind(position, static_cast<int64_t>(value)); }
  Statement& bind(int position, double value);
  Statement& bind(int position, std::string_view text);
  Statement& bind_blob(int position, std::string_view bytes);
  /// True when a row is there, false at the end.
  Result<bool> step();
  /// Runs a statement that gives no rows, and makes it ready to be bound again.
  Status finish();
  int64_t column_int(int column) const { return sqlite3_column_int64(statement_, column); }
  double column_double(int column) const { return sqlite3_column_double(statement_, column); }
  std::string column_text(int column) const;

 private:
  Database* db_;
  sqlite3_stmt* statement_ = nullptr;
};

/// Rolls back unless commit() was called.
class Transaction {
 public:
  explicit Transaction(Database* db) : db_(db) {}
  ~Transaction();
  Status begin();
  Status commit();

 private:
  Database* db_;
  bool open_ = false;
};

}  // namespace kaon::runner
