// Addresses of lanes, and decoding of tensors' elements.
#include "compiler/oracle/memory.h"

#include <algorithm>

#include "compiler/oracle/soft_float.h"
#include "compiler/oracle/views.h"

namespace kaon::compiler {
namespace {

/// What the lanes of one result dim add to the offset, or kOutside.
using Contribution = std::vector<int64_t>;

void add(int64_t* offset, int64_t part) {
  *offset = *offset == kOutside || part == kOutside ? kOutside : *offset + part;
}

int64_t part_of(const HostTensor& tensor, size_t dim, int64_t coordinate) {
  return coordinate >= 0 && coordinate < tensor.sizes[dim] ? coordinate * tensor.strides[dim] : kOutside;
}

/// Adds a vector over the last dim to each row, and a scalar per row from the outer dims.
void add_outer_sum(const std::vector<Contribution>& parts, int64_t base, const std::vector<int64_t>& sizes,
                   std::vector<int64_t>* offsets) {
  const size_t rank = sizes.size();
  std::vector<size_t> position(rank, 0);
  const auto length = static_cast<size_t>(sizes.back());
  const Contribution& inner = parts[rank - 1];
  size_t target = 0;
  while (target < offsets->size()) {
    int64_t row = base;
    for (size_t dim = 0; dim + 1 < rank; ++dim) add(&row, parts[dim][position[dim]]);
    int64_t* out = offsets->data() + target;
    if (row == kOutside) {
      for (size_t i = 0; i < length; ++i) out[i] = kOutside;
    } else {
      for (size_t i = 0; i < length; ++i) out[i] = inner[i] == kOutside ? kOutside : row + inner[i];
    }
    target += length;
    for (size_t dim = rank - 1; dim-- > 0;) {
      if (++position[dim] < static_cast<size_t>(sizes[dim])) break;
      position[dim] = 0;
    }
  }
}

/// Adds the coordinates that an index tile gives to each lane of the result.
void add_gathered(const HostTensor& tensor, size_t dim, const Address& address, const std::vector<int64_t>& sizes,
                  std::vector<int64_t>* offsets) {
  const std::vector<int64_t> own = row_major_strides(address.tile->sizes);
  std::vector<int64_t> strides(sizes.size(), 0);
  for (size_t i = 0; i < own.size(); ++i) strides[static_cast<size_t>(address.tile_dims[i])] = own[i];
  Tile spread;
  copy_strided(*address.tile, sizes, strides, &spread);
  for (size_t i = 0; i < offsets->size(); ++i) {
    add(&(*offsets)[i], spread.bound(i) == 0 ? part_of(tensor, dim, spread.ints[i]) : kOutside);
  }
}

template <typename T>
void load_ints(const void* data, const std::vector<int64_t>& offsets, size_t count, Tile* result) {
  const T* from = static_cast<const T*>(data);
  for (size_t i = 0; i < count; ++i)
    result->ints[i] = offsets[i] == kOutside ? 0 : static_cast<int64_t>(from[offsets[i]]);
}

template <typename T>
void load_native(const void* data, const std::vector<int64_t>& offsets, size_t count, Tile* result) {
  const T* from = static_cast<const T*>(data);
  for (size_t i = 0; i < count; ++i)
    result->floats[i] = offsets[i] == kOutside ? 0 : static_cast<double>(from[offsets[i]]);
}

template <typename T>
void load_small(DType dtype, const void* data, const std::vector<int64_t>& offsets, size_t count, Tile* result) {
  const double* table = decode_table(dtype);
  const T* from = static_cast<const T*>(data);
  for (size_t i = 0; i < count; ++i) result->floats[i] = offsets[i] == kOutside ? 0 : table[from[offsets[i]]];
}

}  // namespace

void lane_offsets(const HostTensor& tensor, const std::vector<Address>& addresses, const std::vector<int64_t>& sizes,
                  std::vector<int64_t>* offsets) {
  size_t count = 1;
  for (int64_t size : sizes) count *= static_cast<size_t>(size);
  offsets->resize(count);
  if (count == 0) return;
  int64_t base = 0;
  std::vector<Contribution> parts(sizes.size());
  for (size_t dim = 0; dim < sizes.size(); ++dim) parts[dim].assign(static_cast<size_t>(sizes[dim]), 0);
  for (size_t dim = 0; dim < addresses.size(); ++dim) {
    const Address& address = addresses[dim];
    if (address.kind == Indexer::Kind::kScalar) add(&base, part_of(tensor, dim, address.first));
    if (address.kind != Indexer::Kind::kAxis) continue;
    Contribution& part = parts[static_cast<size_t>(address.result_dim)];
    for (size_t i = 0; i < part.size(); ++i)
      add(&part[i], part_of(tensor, dim, address.first + static_cast<int64_t>(i)));
  }
  if (sizes.empty())
    (*offsets)[0] = base;
  else
    add_outer_sum(parts, base, sizes, offsets);
  for (size_t dim = 0; dim < addresses.size(); ++dim) {
    if (addresses[dim].kind == Indexer::Kind::kTile) add_gathered(tensor, dim, addresses[dim], sizes, offsets);
  }
}

void load_elements(const HostTensor& tensor, const std::vector<int64_t>& offsets, size_t count, Tile* result) {
  if (tensor.source != nullptr) tensor.source->need(offsets, count);
  switch (tensor.dtype) {
    case DType::kBool:
      load_ints<uint8_t>(tensor.data, offsets, count, result);
      for (size_t i = 0; i < count; ++i) result->ints[i] = result->ints[i] != 0;
      break;
    case DType::kI8: load_ints<int8_t>(tensor.data, offsets, count, result); break;
    case DType::kU8: load_ints<uint8_t>(tensor.data, offsets, count, result); break;
    case DType::kI16: load_ints<int16_t>(tensor.data, offsets, count, result); break;
    case DType::kI32: load_ints<int32_t>(tensor.data, offsets, count, result); break;
    case DType::kU32: load_ints<uint32_t>(tensor.data, offsets, count, result); break;
    case DType::kI64: load_ints<int64_t>(tensor.data, offsets, count, result); break;
    case DType::kF16:
    case DType::kBF16: load_small<uint16_t>(tensor.dtype, tensor.data, offsets, count, result); break;
    case DType::kF32: load_native<float>(tensor.data, offsets, count, result); break;
    case DType::kF64: load_native<double>(tensor.data, offsets, count, result); break;
    case DType::kF8E4M3:
    case DType::kF8E5M2: load_small<uint8_t>(tensor.dtype, tensor.data, offsets, count, result); break;
  }
  bool all_inside = true;
  for (size_t i = 0; i < count; ++i) all_inside = all_inside && offsets[i] != kOutside;
  result->exact = all_inside;
  if (all_inside) return;
  result->need_bounds();
  for (size_t i = 0; i < count; ++i) result->bounds[i] = offsets[i] == kOutside ? kUnknown : 0;
}

void fill_masked(const Tile& mask, const Tile* other, Tile* result) {
  if (result->exact) {
    result->need_bounds();
    std::fill(result->bounds.begin(), result->bounds.end(), 0.0);
    result->exact = false;
  }
  for (size_t i = 0; i < result->count; ++i) {
    if (mask.bound(i) != 0) {
      result->bounds[i] = kUnknown;
      continue;
    }
    if (mask.ints[i] != 0) continue;
    if (result->is_float()) {
      result->floats[i] = other ? other->floats[i] : 0;
    } else {
      result->ints[i] = other ? other->ints[i] : 0;
    }
    result->bounds[i] = other ? other->bound(i) : 0;
  }
  result->settle();
}

}  // namespace kaon::compiler
