// Which lanes of a tile exist where a jagged axis ends at another place for each lane of its parents.
#include <algorithm>

#include "compiler/ir/jagged.h"
#include "compiler/oracle/machine.h"
#include "compiler/oracle/views.h"

namespace kaon::compiler {
namespace {

/// Clears the lanes that lie at or beyond their length on dim `dim`, whose first coordinate is `begin`. `strides` are
/// those of the lengths on each dim of the tile.
void cut_dim(const std::vector<int64_t>& sizes, size_t dim, int64_t begin, const Tile& lengths,
             const std::vector<int64_t>& strides, std::vector<uint8_t>* exists) {
  std::vector<int64_t> position(sizes.size(), 0);
  int64_t length = 0;
  for (uint8_t& lane : *exists) {
    if (begin + position[dim] >= lengths.ints[static_cast<size_t>(length)]) lane = 0;
    for (size_t i = sizes.size(); i-- > 0;) {
      length += strides[i];
      if (++position[i] < sizes[i]) break;
      length -= strides[i] * sizes[i];
      position[i] = 0;
    }
  }
}

}  // namespace

std::vector<uint8_t> Machine::lanes_of(const std::vector<AxisId>& axes, const std::vector<int64_t>& sizes) {
  std::vector<uint8_t> exists;
  for (size_t dim = 0; dim < axes.size(); ++dim) {
    if (!is_cut_by_lengths(kernel_, axes, axes[dim])) continue;
    const ValueId lengths = kernel_.axis(axes[dim]).lengths;
    const std::vector<int64_t> own = row_major_strides(tile(lengths).sizes);
    std::vector<int64_t> strides(sizes.size(), 0);
    const std::vector<AxisId>& parents = parents_of(kernel_, axes[dim]);
    for (size_t i = 0; i < parents.size(); ++i) {
      strides[static_cast<size_t>(std::find(axes.begin(), axes.end(), parents[i]) - axes.begin())] = own[i];
    }
    if (exists.empty()) {
      size_t count = 1;
      for (int64_t size : sizes) count *= static_cast<size_t>(size);
      exists.assign(count, 1);
    }
    cut_dim(sizes, dim, state(axes[dim]).begin, tile(lengths), strides, &exists);
  }
  return exists;
}

void Machine::clear_missing(const std::vector<AxisId>& axes, Tile* value) {
  const std::vector<uint8_t> exists = lanes_of(axes, value->sizes);
  for (size_t i = 0; i < exists.size(); ++i) {
    if (exists[i]) continue;
    if (value->is_float())
      value->floats[i] = 0;
    else
      value->ints[i] = 0;
    if (!value->exact) value->bounds[i] = 0;
  }
  if (!exists.empty()) value->settle();
}

}  // namespace kaon::compiler
