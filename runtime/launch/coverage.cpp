// How coverage is made ready, and what it says in words.
#include "runtime/launch/coverage.h"

#include <climits>

#include "runtime/base/text.h"

namespace kaon {

Coverage::Coverage(const PackTable& table) {
  for (const DimRange& range : table.ranges) {
    dims_.push_back(range.is_ignored ? Dim{INT64_MIN, INT64_MAX, 0} : Dim{range.min, range.max, -1});
  }
  size_t size = 8;
  while (size < table.shapes.size() * 2) size *= 2;
  measured_.assign(size, 0);
  for (const std::vector<int64_t>& shape : table.shapes) {
    uint64_t hash = kSeed;
    for (size_t i = 0; i < dims_.size(); ++i) hash = mix(hash, shape[i] & dims_[i].mask);
    if (hash == 0) hash = 1;
    size_t slot = hash & (size - 1);
    while (measured_[slot] != 0 && measured_[slot] != hash) slot = (slot + 1) & (size - 1);
    measured_[slot] = hash;
  }
}

std::string outside_text(const PackTable& table, const int64_t* slots) {
  std::string text;
  for (size_t i = 0; i < table.ranges.size(); ++i) {
    const DimRange& range = table.ranges[i];
    const int64_t value = slots[table.signature.dim_slot(static_cast<int>(i))];
    if (range.is_ignored || (value >= range.min && value <= range.max)) continue;
    append_to(&text, text.empty() ? "" : ", ", table.signature.dims[i], " = ", value, " is not in ", range.min, "..",
              range.max);
  }
  return text;
}

std::string dims_text(const Signature& signature, const int64_t* slots) {
  std::string text;
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    append_to(&text, i == 0 ? "" : ", ", signature.dims[i], " = ", slots[signature.dim_slot(static_cast<int>(i))]);
  }
  return text;
}

}  // namespace kaon
