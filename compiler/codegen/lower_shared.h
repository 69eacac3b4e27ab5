// Where the elements of a tile lie in a shared buffer.
#pragma once

#include <vector>

#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {

/// Position p of each dim at element offset + sum of p * strides.
struct SharedPlaces {
  std::vector<int64_t> strides;
  int64_t offset = 0;
  bool is_row_major = true;  // by position: lanes that do not exist have places as well
  uint32_t part(const Layout& layout, uint32_t reg) const;
};
SharedPlaces shared_places(const Op& op, const Layout& layout);

}  // namespace kaon::compiler::codegen
