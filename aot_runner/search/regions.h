// Where a search looks: shapes that stand for regions, their neighbours, and the cells that wait to be asked.
#pragma once

#include <map>
#include <vector>

#include "aot_runner/search/strategy.h"

namespace kaon::runner {

/// About `count` shapes that lie far apart, each kind of shapes having its share and at least four where there are as
/// many. Ascending.
std::vector<int> probes_by_kind(const SearchSpace& space, const std::vector<WeightedShape>& shapes, int count);

/// The `count` members of `among` nearest to shape `to`, itself first if it is one of them.
std::vector<int> nearest(const std::vector<WeightedShape>& shapes, const std::vector<int>& among, int to, size_t count);

/// Cells that wait to be asked, each once.
class AskQueue {
 public:
  void add(const Config& config, int shape);
  int num_cells() const;
  void clear() { waiting_.clear(); }
  /// About `cells` of them: an equal share of each shape's, in the order of their mention. One ask per config.
  std::vector<Ask> take(int cells);

 private:
  std::map<int, std::vector<Config>> waiting_;
};

}  // namespace kaon::runner
