// Shapes between the measured ones, for the teacher to fill in.
#include <algorithm>
#include <cmath>
#include <set>

#include "heuristics/random.h"
#include "heuristics/teacher.h"

namespace kaon::heuristics {
namespace {

struct Axis {
  int slot = 0;
  std::vector<int64_t> sizes;  // distinct, ascending, measured
  int64_t granularity = 1;     // power of two that divides most sizes
};

std::vector<Axis> moving_axes(const Table& table, const std::vector<int>& shapes) {
  std::vector<Axis> axes;
  for (int slot : size_slots(table.signature)) {
    std::set<int64_t> distinct;
    for (int s : shapes) distinct.insert(table.shapes[s].slots[slot]);
    if (distinct.size() < 2) continue;
    Axis axis{slot, {distinct.begin(), distinct.end()}, 1};
    for (int64_t step = 2; step <= 128; step *= 2) {
      const auto divides = [&](int64_t size) { return size % step == 0; };
      const auto count = std::count_if(axis.sizes.begin(), axis.sizes.end(), divides);
      if (static_cast<size_t>(count) * 4 >= axis.sizes.size() * 3) axis.granularity = step;
    }
    axes.push_back(std::move(axis));
  }
  return axes;
}

// A size between `size` and a measured neighbour of it.
int64_t moved(const Axis& axis, int64_t size, Random* random) {
  const size_t at =
      static_cast<size_t>(std::lower_bound(axis.sizes.begin(), axis.sizes.end(), size) - axis.sizes.begin());
  const bool up = at == 0 || (at + 1 < axis.sizes.size() && random->below(2) == 1);
  const double from = static_cast<double>(std::max<int64_t>(size, 1));
  const double to = static_cast<double>(std::max<int64_t>(axis.sizes[up ? at + 1 : at - 1], 1));
  const double target = std::exp(std::log(from) + random->uniform() * (std::log(to) - std::log(from)));
  const int64_t value = std::llround(target);
  if (random->below(4) == 0) return value | 1;
  const int64_t step = axis.granularity;
  return std::max(step, (value + step / 2) / step * step);
}

// The row of a call like `slots` but with contiguous tensors of the sizes in `slots`.
std::vector<int64_t> with_contiguous_strides(const Signature& signature, const std::vector<int64_t>& slots) {
  std::vector<int64_t> dims, scalars;
  for (int d = 0; d < static_cast<int>(signature.dims.size()); ++d) dims.push_back(slots[signature.dim_slot(d)]);
  for (int s = 0; s < static_cast<int>(signature.scalars.size()); ++s) {
    scalars.push_back(slots[signature.scalar_slot(s)]);
  }
  return contiguous_slots(signature, dims, scalars);
}

bool satisfies_requires(const Signature& signature, const std::vector<int64_t>& slots) {
  return std::all_of(signature.requires_.begin(), signature.requires_.end(),
                     [&](const Require& require) { return require.condition.evaluate(slots.data()) != 0; });
}

}  // namespace

std::vector<std::vector<int64_t>> denser_grid(const Table& table, const std::vector<int>& shapes, int count,
                                              uint64_t seed) {
  std::vector<std::vector<int64_t>> grid;
  const std::vector<Axis> axes = moving_axes(table, shapes);
  if (axes.empty() || shapes.empty()) return grid;
  std::set<std::vector<int64_t>> seen;
  for (int s : shapes) seen.insert(with_contiguous_strides(table.signature, table.shapes[s].slots));
  Random random(seed);
  // A sweep may leave no room between its shapes, so the number of attempts is bounded.
  for (int attempt = 0; attempt < 8 * count && static_cast<int>(grid.size()) < count; ++attempt) {
    std::vector<int64_t> slots = table.shapes[shapes[random.below(shapes.size())]].slots;
    const size_t first = random.below(axes.size());
    for (size_t a = 0; a < axes.size(); ++a) {
      if (a == first || random.below(3) == 0) slots[axes[a].slot] = moved(axes[a], slots[axes[a].slot], &random);
    }
    slots = with_contiguous_strides(table.signature, slots);
    if (!satisfies_requires(table.signature, slots) || !seen.insert(slots).second) continue;
    grid.push_back(std::move(slots));
  }
  return grid;
}

}  // namespace kaon::heuristics
