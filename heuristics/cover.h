// Which few columns of a cost matrix together serve all of its rows cheapest: the search behind the choice of variants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace kaon::heuristics {

/// Rows are shapes, columns are configs. A set of columns serves each row with its cheapest member, or with the base
/// column, which is there in any case. Costs are not negative. All members are deterministic.
class Cover {
 public:
  /// `columns[c][row]`, in any unit that sums without overflow when multiplied with `weights[row]`. `candidates` are
  /// the columns that may be chosen, ascending, without `base`; `price` is the total cost of one more of them.
  Cover(std::vector<std::vector<int64_t>> columns, std::vector<int64_t> weights, int32_t base,
        std::vector<int32_t> candidates, int64_t price);

  const std::vector<int32_t>& candidates() const { return candidates_; }
  /// Weighted cost of serving every row from `chosen` and the base column, plus prices.
  int64_t objective(const std::vector<int32_t>& chosen) const;
  /// At most `max_size` candidates. Exact while there are at most 20000 subsets to look at, else iterated local search
  /// (seeded). Equal costs go to the lower columns.
  std::vector<int32_t> best(int max_size) const;
  /// The most useful first: by what the set would lose without it, then by column.
  void sort_by_use(std::vector<int32_t>* chosen) const;
  /// For other weights of the rows, everything else being equal.
  void set_weights(std::vector<int64_t> weights) { weights_ = std::move(weights); }

 private:
  std::vector<int32_t> exact(int max_size) const;
  std::vector<int32_t> search(int max_size) const;
  void enumerate(size_t from, int left, std::vector<int32_t>* current, std::vector<int32_t>* best,
                 int64_t* best_cost) const;
  std::vector<int64_t> served_by(const std::vector<int32_t>& chosen) const;
  int64_t cost_with(const std::vector<int64_t>& served, int32_t column, int64_t so_far, int64_t limit) const;
  int64_t descend(int max_size, std::vector<int32_t>* chosen) const;
  bool step(int max_size, std::vector<int32_t>* chosen, int64_t* cost) const;

  std::vector<std::vector<int64_t>> columns_;
  std::vector<int64_t> weights_;
  int32_t base_;
  std::vector<int32_t> candidates_;
  int64_t price_;
};

}  // namespace kaon::heuristics
