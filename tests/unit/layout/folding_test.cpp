// Reductions and changes of layout, simulated on plain arrays: registers, then lanes, then warps; masks; shared
// buffers.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "compiler/layout/layout.h"

namespace kaon::compiler {
namespace {

constexpr uint32_t kWarpLanes = 32;

/// What each register of each thread holds of a tile, in the order warp, lane, register.
struct Tile {
  Layout layout;
  std::vector<int64_t> held;
  int64_t& at(const Place& p) { return held[(p.warp * kWarpLanes + p.lane) * layout.num_registers() + p.reg]; }
};

template <typename Visit>
void visit_places(const Layout& layout, Visit&& visit) {
  for (uint32_t warp = 0; warp < layout.num_warps(); ++warp) {
    for (uint32_t lane = 0; lane < kWarpLanes; ++lane) {
      for (uint32_t reg = 0; reg < layout.num_registers(); ++reg) visit(Place{reg, lane, warp, 0});
    }
  }
}

/// Element (i, j) of the plain array that the tiles hold.
int64_t element(uint64_t i, uint64_t j) { return static_cast<int64_t>(1 + i * 131 + j * j * 7); }

Tile make_tile(const Layout& layout) {
  Tile tile{layout, std::vector<int64_t>(size_t{layout.num_warps()} * kWarpLanes * layout.num_registers())};
  visit_places(layout, [&](const Place& p) {
    const auto at = layout.position(p);
    tile.at(p) = element(at[0], at[1]);
  });
  return tile;
}

/// Sums dim 1 of a tile whose coordinates from `extent` on do not exist, in the three steps of hardware.
Tile fold_second_dim(Tile tile, uint64_t extent) {
  const Layout from = tile.layout;
  const Layout to = from.drop({1});
  Tile sums{to, std::vector<int64_t>(size_t{to.num_warps()} * kWarpLanes * to.num_registers(), 0)};
  // Registers: each thread adds what it holds, leaving out lanes that do not exist.
  visit_places(from, [&](const Place& p) {
    if (from.position(p)[1] >= extent) return;
    Place into = p;
    into.reg = to.owner({from.register_part(0, p.reg), 0}).reg;
    sums.at(into) += tile.at(p);
  });
  // Lanes: a butterfly over the bits of the dim's lane digits.
  for (const Digit& digit : from.digits(1)) {
    for (uint32_t step = 1; digit.where == Where::kLane && step < digit.radix; step *= 2) {
      Tile next = sums;
      visit_places(to, [&](const Place& p) {
        Place other = p;
        other.lane ^= step * digit.unit;
        next.at(p) = sums.at(p) + sums.at(other);
      });
      sums = std::move(next);
    }
  }
  // Warps: each thread adds the partial sums of all warps that differ in the dim's warp digits only.
  for (const Digit& digit : from.digits(1)) {
    if (digit.where != Where::kWarp) continue;
    Tile next = sums;
    visit_places(to, [&](const Place& p) {
      const uint32_t own = (p.warp / digit.unit) % digit.radix;
      next.at(p) = 0;
      for (uint32_t k = 0; k < digit.radix; ++k) {
        Place other = p;
        other.warp = p.warp + (k - own) * digit.unit;
        next.at(p) += sums.at(other);
      }
    });
    sums = std::move(next);
  }
  return sums;
}

std::vector<Layout> interesting_layouts() {
  const auto r = [](uint32_t radix, uint32_t unit) { return Digit{radix, Where::kRegister, unit}; };
  const auto l = [](uint32_t radix, uint32_t unit) { return Digit{radix, Where::kLane, unit}; };
  const auto w = [](uint32_t radix, uint32_t unit) { return Digit{radix, Where::kWarp, unit}; };
  return {
      Layout({{}, {r(8, 1), l(32, 1), w(4, 1), r(3, 8)}}, 4),        // one row, all threads along it
      Layout({{}, {r(4, 1), l(32, 1), w(7, 1), r(7, 4)}}, 7),        // seven warps, seven repetitions
      Layout({{w(4, 1)}, {r(2, 1), l(32, 1), r(2, 2)}}, 4),          // a warp a row
      Layout({{l(4, 8), w(2, 1)}, {r(8, 1), l(8, 1), r(2, 8)}}, 2),  // four rows a warp
      Layout({{l(2, 16), w(3, 2), r(2, 4)}, {r(4, 1), l(16, 1), w(2, 1)}}, 6),
      Layout({{r(3, 1), l(4, 1)}, {l(4, 4), r(5, 3)}}, 2),           // replicas in lanes and warps
      Layout({{l(8, 1)}, {w(2, 1), l(2, 8), r(3, 1), w(2, 2)}}, 4),  // digits in any order
  };
}

TEST(Folding, sums_match_plain_loops_for_every_extent) {
  for (const Layout& layout : interesting_layouts()) {
    ASSERT_EQ(layout.why_illegal(), "") << layout.to_string();
    const Tile tile = make_tile(layout);
    const uint64_t capacity = layout.capacity(1);
    for (const uint64_t extent : {uint64_t{0}, uint64_t{1}, capacity / 2, capacity - 1, capacity}) {
      Tile sums = fold_second_dim(tile, extent);
      visit_places(sums.layout, [&](const Place& p) {
        const uint64_t row = sums.layout.position(p)[0];
        int64_t expected = 0;
        for (uint64_t j = 0; j < extent; ++j) expected += element(row, j);
        ASSERT_EQ(sums.at(p), expected) << layout.to_string() << ", extent " << extent << ", row " << row;
      });
    }
  }
}

/// Owners write a row-major buffer, everyone reads it back in another layout.
TEST(Folding, conversion_through_a_row_major_buffer_reaches_every_layout_of_the_same_tile) {
  const auto r = [](uint32_t radix, uint32_t unit) { return Digit{radix, Where::kRegister, unit}; };
  const auto l = [](uint32_t radix, uint32_t unit) { return Digit{radix, Where::kLane, unit}; };
  const auto w = [](uint32_t radix, uint32_t unit) { return Digit{radix, Where::kWarp, unit}; };
  const std::vector<Layout> layouts = {
      Layout({{l(4, 8), w(2, 1)}, {r(4, 1), l(8, 1), w(2, 2)}}, 4), Layout({{r(8, 1)}, {l(32, 1), w(2, 1)}}, 4),
      Layout({{w(4, 1), r(2, 2)}, {r(2, 1), l(32, 1)}}, 4),         Layout({{l(8, 1)}, {r(64, 1)}}, 4),
      Layout({{r(2, 32), l(4, 1)}, {r(32, 1), l(2, 4)}}, 4),
  };
  for (const Layout& from : layouts) {
    ASSERT_EQ(from.why_illegal(), "") << from.to_string();
    Tile source = make_tile(from);
    std::vector<int64_t> buffer(8 * 64, -1);
    visit_places(from, [&](const Place& p) {
      const auto at = from.position(p);
      if (!from.is_owner(p)) return;
      ASSERT_EQ(buffer[at[0] * 64 + at[1]], -1) << "two owners of one element in " << from.to_string();
      buffer[at[0] * 64 + at[1]] = source.at(p);
    });
    for (const Layout& to : layouts) {
      visit_places(to, [&](const Place& p) {
        const auto at = to.position(p);
        ASSERT_EQ(buffer[at[0] * 64 + at[1]], element(at[0], at[1])) << from.to_string() << " to " << to.to_string();
      });
    }
  }
}

}  // namespace
}  // namespace kaon::compiler
