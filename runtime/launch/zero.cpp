// How a strided tensor is cleared.
#include "runtime/launch/zero.h"

#include <cstdlib>
#include <utility>

namespace kaon {
namespace {

struct Axis {
  int64_t size, stride;
};

Status zero_axes(Backend& backend, char* start, const Axis* axes, int count, int64_t run_bytes, void* stream) {
  if (count == 0) return backend.zero(start, static_cast<size_t>(run_bytes), stream);
  for (int64_t i = 0; i < axes[0].size; ++i) {
    KAON_RETURN_IF_ERROR(zero_axes(backend, start + i * axes[0].stride, axes + 1, count - 1, run_bytes, stream));
  }
  return Status::ok();
}

}  // namespace

Status zero_tensor(const ResolvedTable& table, int tensor, const int64_t* slots, void* stream) {
  const ArgumentChecker& checker = table.checker();
  int64_t extents[kMaxRank];
  checker.extents(tensor, slots, extents);
  const int64_t* strides = slots + checker.first_stride_slot(tensor);
  int64_t bytes = dtype_bytes(checker.signature().tensors[tensor].dtype);
  char* start = reinterpret_cast<char*>(slots[tensor]);
  Axis axes[kMaxRank];
  int count = 0;
  for (int i = 0; i < checker.rank(tensor); ++i) {
    if (extents[i] == 0) return Status::ok();
    if (extents[i] == 1) continue;
    int64_t stride = strides[i] * bytes;
    if (stride < 0) start += (extents[i] - 1) * stride;
    axes[count++] = {extents[i], std::abs(stride)};
  }
  // At most kMaxRank axes: insertion is all the sorting that is needed.
  for (int i = 1; i < count; ++i) {
    for (int j = i; j > 0 && axes[j - 1].stride < axes[j].stride; --j) std::swap(axes[j - 1], axes[j]);
  }
  // Fold the innermost axes into one run for as long as they leave no gap.
  int64_t run_bytes = bytes;
  while (count > 0 && axes[count - 1].stride == run_bytes) run_bytes *= axes[--count].size;
  return zero_axes(table.backend(), start, axes, count, run_bytes, stream);
}

}  // namespace kaon
