// The elements of a random input, as a function of their index: any thread of a host or a GPU can make any of them.
//
// Element i is made from z = mix64(i + seed * 0x9e3779b97f4a7c15) (the finaliser of splitmix64). A normal value is
// ((sum of z's eight bytes - 1020) + (z * 0xd1342543de82ef95 >> 48) / 65536) / 209.02: nearly normal, within +-4.9
// deviations, with 27 significant bits. device_kernels.ptx computes the same.
#pragma once

#include <cstdint>

#include "aot_runner/measure/protocol.h"
#include "runtime/base/dtype.h"

namespace kaon::runner {

/// A recipe with its default resolved for a dtype, in the form that the fill loops take.
struct FillPlan {
  enum class Kind : uint32_t { kNormal = 0, kUniformReal = 1, kUniformInt = 2 };
  Kind kind = Kind::kNormal;
  // kNormal: base + scale * n. kUniformReal: base + scale * u, u in [0, 1). kUniformInt: base + (z mod count).
  double base = 0;
  double scale = 1;
  uint64_t count = 1;
};
FillPlan plan_fill(const Recipe& recipe, DType dtype);

/// Seed of one tensor's elements.
uint64_t tensor_seed(uint64_t seed, int tensor);

/// Writes elements 0 to count of a tensor to `destination`, on all processors when there are many.
void fill_random(void* destination, int64_t count, DType dtype, const FillPlan& plan, uint64_t seed);

/// Order-independent hash of `count` elements of `element_bytes` (1, 2, 4 or 8): equal memory gives equal hashes, and
/// every change of an element changes it but for chance of 2^-64. device_kernels.ptx computes the same.
uint64_t hash_elements(const void* data, int64_t count, int element_bytes);

}  // namespace kaon::runner
