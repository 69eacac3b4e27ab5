// Oracle results of this worker, kept because a search comes back to the same shapes again and again.
#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "compiler/oracle/oracle.h"

namespace kaon::runner {

class OracleCache {
 public:
  /// Keeps about `bytes` of results; the oldest go first.
  explicit OracleCache(int64_t bytes = int64_t{256} << 20) : room_(bytes) {}

  /// Null when there is none.
  std::shared_ptr<const compiler::OracleResult> find(const std::string& key) const;
  void keep(const std::string& key, std::shared_ptr<const compiler::OracleResult> result);
  /// For a kernel's id that was given to another kernel: keys begin with the id.
  void forget(const std::string& prefix);

 private:
  struct Entry {
    std::string key;
    std::shared_ptr<const compiler::OracleResult> result;
    int64_t bytes = 0;
  };
  void erase(std::list<Entry>::iterator entry);

  int64_t room_;
  std::list<Entry> entries_;  // oldest first
  std::map<std::string, std::list<Entry>::iterator> by_key_;
};

}  // namespace kaon::runner
