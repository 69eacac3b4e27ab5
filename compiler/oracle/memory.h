// Loads and stores of the oracle: from lanes to element offsets, tensors' bytes to tiles and back.
#pragma once

#include <vector>

#include "compiler/oracle/oracle.h"
#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// How one dimension of a tensor is addressed, with the tiles that its indexer reads.
struct Address {
  Indexer::Kind kind = Indexer::Kind::kScalar;
  int64_t first = 0;           // kAxis: coordinate of the first lane, slice begin added; kScalar: the coordinate
  int result_dim = -1;         // kAxis: dim of the tile that runs along
  const Tile* tile = nullptr;  // kTile: coordinates
  std::vector<int> tile_dims;  // kTile: dim of the result for each dim of `tile`
};

/// Offset of each lane in elements, or kOutside for a lane outside the tensor.
constexpr int64_t kOutside = INT64_MIN;
void lane_offsets(const HostTensor& tensor, const std::vector<Address>& addresses, const std::vector<int64_t>& sizes,
                  std::vector<int64_t>* offsets);

/// Elements at `offsets`; a lane outside the tensor is undefined and has bound kUnknown.
void load_elements(const HostTensor& tensor, const std::vector<int64_t>& offsets, size_t count, Tile* result);

/// Gives lanes that `mask` leaves out what `other` holds there, by default 0. Where the mask may be either, so may the
/// lane.
void fill_masked(const Tile& mask, const Tile* other, Tile* result);

}  // namespace kaon::compiler
