// Rows that start off alignment: the window of positions is moved down to an aligned address, the same for every tensor
// that is accessed in vectors along the axis.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "compiler/passes/access_facts.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

class ShiftWindow {
 public:
  /// Reads the knobs shift.<axis>.
  explicit ShiftWindow(Kernel& kernel);
  bool is_shifted(AxisId axis) const { return shifted_.count(axis) > 0; }
  /// True when `op` can use vectors in the window of its axis: it is the first, which fixes the phase of every row, or
  /// its rows are addressed as those of the first, and guards make their phases equal.
  bool admit(const Op& op, const AccessFacts& facts);
  /// Computes the origins at the start of the program and lengthens the loops over shifted axes. Axes that no access
  /// was admitted for are left alone.
  Status finish();

 private:
  struct Reference {
    int tensor = -1;
    std::vector<Indexer> rows;  // indexers of all dimensions but the last
    std::vector<ValueId> operands;
    ValueId tile = kNoValue;
    int dim = -1;  // of the axis in the tile
  };
  bool rows_by_grid(const Op& op) const;
  void require_same_phase(const Reference& reference, int tensor);
  void insert_origin(AxisId axis, const Reference& reference);

  Kernel& kernel_;
  int64_t vec_ = 1;
  std::set<AxisId> shifted_;
  std::map<AxisId, Reference> references_;
};

}  // namespace kaon::compiler
