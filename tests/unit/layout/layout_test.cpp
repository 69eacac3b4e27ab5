// Layouts against plain arrays: every assignment of small digits to registers, lanes and warps, under all views.
#include "compiler/layout/layout.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>
#include <vector>

namespace kaon::compiler {
namespace {

constexpr uint32_t kLanes = 32;

/// Digits of one axis without units, least significant first.
using Shape = std::vector<std::pair<uint32_t, Where>>;

std::vector<Shape> axis_shapes() {
  const std::vector<std::pair<uint32_t, Where>> kinds = {{2, Where::kRegister}, {3, Where::kRegister},
                                                         {2, Where::kLane},     {4, Where::kLane},
                                                         {2, Where::kWarp},     {3, Where::kWarp}};
  std::vector<Shape> shapes{{}};
  for (const auto& a : kinds) {
    shapes.push_back({a});
    for (const auto& b : kinds) shapes.push_back({a, b});
  }
  return shapes;
}

/// Gives units in order of the axes, or from the last axis to the first; lanes start at `first_lane_unit`.
Layout with_units(const std::vector<Shape>& shapes, bool reversed, uint32_t first_lane_unit) {
  uint32_t units[] = {1, first_lane_unit, 1, 1};
  std::vector<std::vector<Digit>> digits(shapes.size());
  for (size_t k = 0; k < shapes.size(); ++k) {
    const size_t axis = reversed ? shapes.size() - 1 - k : k;
    for (const auto& [radix, where] : shapes[axis]) {
      uint32_t& unit = units[static_cast<size_t>(where)];
      digits[axis].push_back({radix, where, unit});
      unit *= radix;
    }
  }
  return Layout(std::move(digits), units[static_cast<size_t>(Where::kWarp)]);
}

/// Calls `check` for every legal layout of two axes made of up to two digits each.
void for_each_layout(const std::function<void(const Layout&)>& check) {
  const std::vector<Shape> shapes = axis_shapes();
  for (const Shape& a : shapes) {
    for (const Shape& b : shapes) {
      for (const bool reversed : {false, true}) {
        const Layout layout = with_units({a, b}, reversed, reversed ? 2 : 1);
        if (!layout.why_illegal().empty() || layout.num_registers() > 9) continue;
        check(layout);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

void for_each_place(const Layout& layout, const std::function<void(const Place&)>& visit) {
  for (uint32_t warp = 0; warp < layout.num_warps(); ++warp) {
    for (uint32_t lane = 0; lane < kLanes; ++lane) {
      for (uint32_t reg = 0; reg < layout.num_registers(); ++reg) visit({reg, lane, warp, 0});
    }
  }
}

/// Row-major number of a position.
uint64_t linear(const Layout& layout, const std::vector<uint64_t>& position) {
  uint64_t out = 0;
  for (int dim = 0; dim < layout.rank(); ++dim) out = out * layout.capacity(dim) + position[static_cast<size_t>(dim)];
  return out;
}

uint64_t num_elements(const Layout& layout) {
  uint64_t out = 1;
  for (int dim = 0; dim < layout.rank(); ++dim) out *= layout.capacity(dim);
  return out;
}

TEST(Layout, every_element_has_one_owner_and_equal_replicas) {
  int layouts = 0;
  for_each_layout([&](const Layout& layout) {
    ++layouts;
    std::vector<uint32_t> holders(num_elements(layout), 0);
    std::vector<uint32_t> owners(num_elements(layout), 0);
    uint64_t places = 0;
    for_each_place(layout, [&](const Place& place) {
      const std::vector<uint64_t> position = layout.position(place);
      const uint64_t element = linear(layout, position);
      ASSERT_LT(element, holders.size());
      ++places;
      ++holders[element];
      if (!layout.is_owner(place)) return;
      ++owners[element];
      const Place owner = layout.owner(position);
      ASSERT_TRUE(owner.reg == place.reg && owner.lane == place.lane && owner.warp == place.warp) << layout.to_string();
    });
    for (size_t i = 0; i < holders.size(); ++i) {
      ASSERT_EQ(owners[i], 1u) << layout.to_string();
      ASSERT_EQ(holders[i] * holders.size(), places) << layout.to_string();
    }
  });
  EXPECT_GT(layouts, 1000);
}

TEST(Layout, position_is_the_sum_of_its_register_and_thread_parts) {
  for_each_layout([](const Layout& layout) {
    for_each_place(layout, [&](const Place& place) {
      Place thread = place;
      thread.reg = 0;
      for (int dim = 0; dim < layout.rank(); ++dim) {
        const auto d = static_cast<size_t>(dim);
        ASSERT_EQ(layout.position(place)[d], layout.position(thread)[d] + layout.register_part(dim, place.reg))
            << layout.to_string();
      }
    });
  });
}

TEST(Layout, contiguous_counts_neighbours_in_consecutive_registers) {
  for_each_layout([](const Layout& layout) {
    for (int dim = 0; dim < layout.rank(); ++dim) {
      uint32_t run = 1;
      while (run < layout.num_registers() && layout.register_part(dim, run) == run &&
             layout.register_part(1 - dim, run) == 0) {
        ++run;
      }
      ASSERT_EQ(layout.contiguous(dim), run) << layout.to_string() << " dim " << dim;
    }
  });
}

TEST(Layout, text_reads_back_as_the_same_layout) {
  for_each_layout([](const Layout& layout) {
    Layout parsed;
    std::string why;
    ASSERT_TRUE(parse_layout(layout.to_string(), &parsed, &why)) << layout.to_string() << ": " << why;
    ASSERT_EQ(parsed, layout);
    ASSERT_EQ(parsed.num_registers(), layout.num_registers());
  });
  for (const char* text : {"[] warps 4", "[1] warps 1", "[1 | 4w8] warps 32", "[8r1 32l1 8w1 7r8] warps 8 blocks 4"}) {
    Layout parsed;
    std::string why;
    EXPECT_TRUE(parse_layout(text, &parsed, &why)) << text << ": " << why;
    EXPECT_EQ(parsed.to_string(), text);
  }
  for (const char* text : {"", "[8r1 warps 4", "[8x1] warps 4", "[8r0] warps 4", "[2r1 4r2] warps 1", "[8r1] warps",
                           "[8r1] warps 1 ", "[1r1] warps 1", "[8r1 | ] warps 1", "[99999999999r1] warps 1"}) {
    Layout parsed;
    std::string why;
    EXPECT_FALSE(parse_layout(text, &parsed, &why)) << text;
    EXPECT_NE(why.find("expected"), std::string::npos) << text;
  }
}

TEST(Layout, views_leave_every_element_where_it_is) {
  for_each_layout([](const Layout& layout) {
    const Layout turned = layout.permute({1, 0});
    const Layout wider = layout.expand_dims(1);
    ASSERT_EQ(wider.squeeze(1), layout);
    ASSERT_EQ(turned.permute({1, 0}), layout);
    for_each_place(layout, [&](const Place& place) {
      const std::vector<uint64_t> p = layout.position(place);
      ASSERT_EQ(turned.position(place), (std::vector<uint64_t>{p[1], p[0]})) << layout.to_string();
      ASSERT_EQ(wider.position(place), (std::vector<uint64_t>{p[0], 0, p[1]})) << layout.to_string();
    });
  });
}

TEST(Layout, dropping_a_dim_makes_broadcasting_along_it_free) {
  for_each_layout([](const Layout& layout) {
    for (const std::vector<int64_t>& dims : {std::vector<int64_t>{0}, {1}, {0, 1}}) {
      const Layout operand = layout.drop(dims);
      ASSERT_EQ(operand.why_illegal(), "") << layout.to_string();
      for_each_place(layout, [&](const Place& place) {
        std::vector<uint64_t> wanted = layout.position(place);
        for (const int64_t dim : dims) wanted[static_cast<size_t>(dim)] = 0;
        // The register that holds the operand's element is the same in every thread.
        const Place source{operand.owner(wanted).reg, place.lane, place.warp, 0};
        ASSERT_EQ(operand.position(source), wanted) << layout.to_string() << " to " << operand.to_string();
      });
    }
  });
}

TEST(Layout, illegal_digits_are_refused_with_numbers) {
  const auto why = [](std::vector<std::vector<Digit>> digits, uint32_t warps) {
    return Layout(std::move(digits), warps).why_illegal();
  };
  EXPECT_EQ(why({{{3, Where::kLane, 1}}}, 1), "digit 3l1: radix and unit of a lane digit must be powers of two");
  EXPECT_EQ(why({{{4, Where::kRegister, 1}}, {{2, Where::kRegister, 2}}}, 1),
            "digit 2r2 overlaps another register digit, which reaches up to index 4");
  EXPECT_EQ(why({{{2, Where::kRegister, 4}}}, 1), "digit 2r4 leaves registers 1..3 without a digit");
  EXPECT_EQ(why({{{8, Where::kLane, 8}}}, 1), "lane digits need a multiple of 64 lanes, got 32");
  EXPECT_EQ(why({{{7, Where::kWarp, 1}}}, 8), "warp digits need a multiple of 7 warps, got 8");
  EXPECT_EQ(why({{{2, Where::kWarp, 1}}, {{2, Where::kWarp, 3}}}, 6),
            "digit 2w3: unit must be a multiple of 2, where the digits below end");
  EXPECT_EQ(why({{}}, 257), "a program must have 1 to 256 warps, got 257");
  EXPECT_EQ(why({{{8, Where::kRegister, 1}, {32, Where::kLane, 1}, {7, Where::kWarp, 1}, {7, Where::kRegister, 8}}}, 7),
            "");
}

TEST(Layout, equal_maps_have_equal_digits) {
  const Layout merged({{{8, Where::kRegister, 1}, {32, Where::kLane, 1}}}, 1);
  const Layout pieces({{{2, Where::kRegister, 1},
                        {4, Where::kRegister, 2},
                        {1, Where::kWarp, 1},
                        {8, Where::kLane, 1},
                        {4, Where::kLane, 8}}},
                      1);
  EXPECT_EQ(merged, pieces);
  EXPECT_EQ(pieces.to_string(), "[8r1 32l1] warps 1");
}

}  // namespace
}  // namespace kaon::compiler
