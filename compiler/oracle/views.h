// Ops that only say where elements are: shapes changed, elements repeated or reordered.
#pragma once

#include <vector>

#include "compiler/oracle/tile.h"

namespace kaon::compiler {

/// The same elements in row-major order under other sizes of equal product.
void copy_reshaped(const Tile& a, const std::vector<int64_t>& sizes, Tile* result);
/// result[i0, i1, ...] = a at sum(i_k * strides[k]), strides in elements of `a`; 0 repeats.
void copy_strided(const Tile& a, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, Tile* result);
/// Axes of extent 1 repeat to `sizes`.
void copy_broadcast(const Tile& a, const std::vector<int64_t>& sizes, Tile* result);
/// `before` with the elements of `after`, whose sizes are no greater, in their places, but for those that `exists`
/// (empty: all) does not flag.
void copy_merged(const Tile& before, const Tile& after, const std::vector<uint8_t>& exists, Tile* result);
void copy_permuted(const Tile& a, const std::vector<int64_t>& perm, Tile* result);
/// The part of `a` of `sizes` that starts at `begin` on `dim`; it must lie within `a`.
void copy_slice(const Tile& a, size_t dim, int64_t begin, const std::vector<int64_t>& sizes, Tile* result);
/// The parts one after the other along `dim`, which make up `sizes`.
void copy_concat(const std::vector<const Tile*>& parts, size_t dim, const std::vector<int64_t>& sizes, Tile* result);

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& sizes);

}  // namespace kaon::compiler
