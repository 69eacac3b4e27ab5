// One element of a tensor in host memory as a number.
#pragma once

#include <cstdint>

#include "runtime/base/dtype.h"

namespace kaon::runner {

/// Element `index` of `data`; i64 beyond 2^53 rounds.
double load_element(const void* data, int64_t index, DType dtype);

}  // namespace kaon::runner
