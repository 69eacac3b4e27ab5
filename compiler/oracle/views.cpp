// Copies of tiles through strides.
#include "compiler/oracle/views.h"

#include <algorithm>
#include <cstddef>

namespace kaon::compiler {
namespace {

/// Calls run(source offset, result offset) for each row of the last axis.
template <typename Run>
void for_each_row(const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, Run run) {
  const size_t outer_rank = sizes.size() - 1;
  std::vector<int64_t> position(outer_rank, 0);
  int64_t source = 0, target = 0;
  while (true) {
    run(source, target);
    target += sizes.back();
    size_t dim = outer_rank;
    while (dim > 0 && ++position[dim - 1] == sizes[dim - 1]) {
      source -= strides[dim - 1] * (sizes[dim - 1] - 1);
      position[--dim] = 0;
    }
    if (dim == 0) return;
    source += strides[dim - 1];
  }
}

template <typename T>
void copy_rows(const std::vector<T>& from, std::vector<T>* to, const std::vector<int64_t>& sizes,
               const std::vector<int64_t>& strides) {
  const int64_t length = sizes.back(), stride = strides.back();
  for_each_row(sizes, strides, [&](int64_t source, int64_t target) {
    const T* in = from.data() + source;
    T* out = to->data() + target;
    if (stride == 0)
      std::fill(out, out + length, *in);
    else if (stride == 1)
      std::copy(in, in + length, out);
    else
      for (int64_t i = 0; i < length; ++i) out[i] = in[i * stride];
  });
}

}  // namespace

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& sizes) {
  std::vector<int64_t> strides(sizes.size(), 1);
  for (size_t i = sizes.size(); i-- > 1;) strides[i - 1] = strides[i] * sizes[i];
  return strides;
}

void copy_reshaped(const Tile& a, const std::vector<int64_t>& sizes, Tile* result) {
  result->shape(a.dtype, sizes, a.exact);
  const auto count = static_cast<ptrdiff_t>(a.count);
  if (a.is_float())
    std::copy(a.floats.begin(), a.floats.begin() + count, result->floats.begin());
  else
    std::copy(a.ints.begin(), a.ints.begin() + count, result->ints.begin());
  if (!a.exact) std::copy(a.bounds.begin(), a.bounds.begin() + count, result->bounds.begin());
}

void copy_strided(const Tile& a, const std::vector<int64_t>& sizes, const std::vector<int64_t>& strides, Tile* result) {
  if (sizes.empty()) return copy_reshaped(a, sizes, result);
  result->shape(a.dtype, sizes, a.exact);
  if (result->count == 0) return;
  if (a.is_float())
    copy_rows(a.floats, &result->floats, sizes, strides);
  else
    copy_rows(a.ints, &result->ints, sizes, strides);
  if (!a.exact) copy_rows(a.bounds, &result->bounds, sizes, strides);
}

void copy_broadcast(const Tile& a, const std::vector<int64_t>& sizes, Tile* result) {
  std::vector<int64_t> strides = row_major_strides(a.sizes);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (a.sizes[i] == 1) strides[i] = 0;
  }
  copy_strided(a, sizes, strides, result);
}

void copy_merged(const Tile& before, const Tile& after, const std::vector<uint8_t>& exists, Tile* result) {
  copy_reshaped(before, before.sizes, result);
  if (after.count == 0) return;
  if (!after.exact && result->exact) {
    result->exact = false;
    result->need_bounds();
    std::fill(result->bounds.begin(), result->bounds.begin() + static_cast<ptrdiff_t>(result->count), 0.0);
  }
  const std::vector<int64_t> strides = row_major_strides(result->sizes);
  std::vector<int64_t> position(after.sizes.size(), 0);
  for (size_t i = 0; i < after.count; ++i) {
    size_t to = 0;
    for (size_t dim = 0; dim < position.size(); ++dim) to += static_cast<size_t>(position[dim] * strides[dim]);
    const bool is_missing = !exists.empty() && !exists[i];
    if (!is_missing && result->is_float()) result->floats[to] = after.floats[i];
    if (!is_missing && !result->is_float()) result->ints[to] = after.ints[i];
    if (!is_missing && !result->exact) result->bounds[to] = after.bound(i);
    for (size_t dim = position.size(); dim-- > 0 && ++position[dim] == after.sizes[dim];) position[dim] = 0;
  }
}

void copy_permuted(const Tile& a, const std::vector<int64_t>& perm, Tile* result) {
  const std::vector<int64_t> own = row_major_strides(a.sizes);
  std::vector<int64_t> sizes, strides;
  for (int64_t dim : perm) {
    sizes.push_back(a.sizes[static_cast<size_t>(dim)]);
    strides.push_back(own[static_cast<size_t>(dim)]);
  }
  copy_strided(a, sizes, strides, result);
}

namespace {

/// Lengths of the runs that lie side by side in a tile whose dim `dim` is cut: one for each index before it.
struct Runs {
  size_t count = 1;
  size_t step = 1;  // elements of one index of dim
};

Runs runs_of(const std::vector<int64_t>& sizes, size_t dim) {
  Runs runs;
  for (size_t i = 0; i < sizes.size(); ++i)
    (i < dim ? runs.count : runs.step) *= i == dim ? 1 : static_cast<size_t>(sizes[i]);
  return runs;
}

/// Copies `length` elements at `source` of `a` to `target` of `result`, bounds included.
void copy_run(const Tile& a, size_t source, size_t length, size_t target, Tile* result) {
  const auto from = static_cast<ptrdiff_t>(source), to = static_cast<ptrdiff_t>(target);
  const auto end = static_cast<ptrdiff_t>(source + length);
  if (a.is_float())
    std::copy(a.floats.begin() + from, a.floats.begin() + end, result->floats.begin() + to);
  else
    std::copy(a.ints.begin() + from, a.ints.begin() + end, result->ints.begin() + to);
  if (result->exact) return;
  for (size_t i = 0; i < length; ++i) result->bounds[target + i] = a.bound(source + i);
}

}  // namespace

void copy_slice(const Tile& a, size_t dim, int64_t begin, const std::vector<int64_t>& sizes, Tile* result) {
  result->shape(a.dtype, sizes, a.exact);
  const Runs runs = runs_of(sizes, dim);
  const size_t length = static_cast<size_t>(sizes[dim]) * runs.step;
  const size_t whole = static_cast<size_t>(a.sizes[dim]) * runs.step;
  for (size_t run = 0; run < runs.count; ++run) {
    copy_run(a, run * whole + static_cast<size_t>(begin) * runs.step, length, run * length, result);
  }
}

void copy_concat(const std::vector<const Tile*>& parts, size_t dim, const std::vector<int64_t>& sizes, Tile* result) {
  const bool exact = std::all_of(parts.begin(), parts.end(), [](const Tile* part) { return part->exact; });
  result->shape(parts[0]->dtype, sizes, exact);
  const Runs runs = runs_of(sizes, dim);
  const size_t whole = static_cast<size_t>(sizes[dim]) * runs.step;
  size_t begin = 0;
  for (const Tile* part : parts) {
    const size_t length = static_cast<size_t>(part->sizes[dim]) * runs.step;
    for (size_t run = 0; run < runs.count; ++run) copy_run(*part, run * length, length, run * whole + begin, result);
    begin += length;
  }
}

}  // namespace kaon::compiler
