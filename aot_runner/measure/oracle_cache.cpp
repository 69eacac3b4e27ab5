// First in, first out, by size.
#include "aot_runner/measure/oracle_cache.h"

namespace kaon::runner {

std::shared_ptr<const compiler::OracleResult> OracleCache::find(const std::string& key) const {
  const auto found = by_key_.find(key);
  return found == by_key_.end() ? nullptr : found->second->result;
}

void OracleCache::erase(std::list<Entry>::iterator entry) {
  room_ += entry->bytes;
  by_key_.erase(entry->key);
  entries_.erase(entry);
}

void OracleCache::keep(const std::string& key, std::shared_ptr<const compiler::OracleResult> result) {
  int64_t bytes = 0;
  for (const auto& output : result->outputs) bytes += static_cast<int64_t>(output.size() * sizeof(output[0]));
  if (const auto found = by_key_.find(key); found != by_key_.end()) erase(found->second);
  by_key_[key] = entries_.insert(entries_.end(), {key, std::move(result), bytes});
  room_ -= bytes;
  while (room_ < 0 && entries_.size() > 1) erase(entries_.begin());
}

void OracleCache::forget(const std::string& prefix) {
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const auto next = std::next(entry);
    if (entry->key.compare(0, prefix.size(), prefix) == 0) erase(entry);
    entry = next;
  }
}

}  // namespace kaon::runner
