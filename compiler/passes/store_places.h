// Which elements of a tensor stores reach, as far as the host can tell.
#pragma once

#include <optional>
#include <vector>

#include "compiler/ir/host_int.h"
#include "compiler/ir/ir.h"

namespace kaon::compiler {

class StorePlaces {
 public:
  /// Ops may be added to the kernel while this lives, but none of those that are there removed.
  explicit StorePlaces(const Kernel& kernel);

  /// Whether no element can be reached by both stores. Both are of one tensor.
  bool are_apart(const Op& a, const Op& b) const;
  /// Whether dimension `dim` is addressed by both along one axis from one begin, so that they reach the same coordinate
  /// at the same position.
  bool walk_together(const Op& a, const Op& b, size_t dim) const;
  /// Whether all turns of a loop around the store reach the same coordinates along the axes of its value.
  bool is_still(const Op& store) const;

 private:
  struct Range {
    HostInt begin, end;
  };

  std::optional<HostInt> begin(const Op& store, const Indexer& indexer) const;
  std::optional<Range> range(const Op& store, size_t dim) const;

  const Kernel& kernel_;
  std::vector<const Op*> definitions_;
};

/// Whether some dimension is addressed by a tile of indices.
bool is_scatter(const Op& store);

}  // namespace kaon::compiler
