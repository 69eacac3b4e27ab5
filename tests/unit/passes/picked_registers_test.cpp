// Views over every small layout: a pick moves the right elements, and is refused only where some element has to leave
// its thread.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "compiler/config/axis_links.h"
#include "compiler/ir/view_rules.h"
#include "compiler/passes/stage_views.h"

namespace kaon::compiler {
namespace {

constexpr uint32_t kMaxWarps = 2;

/// Ways to deal `extent` positions out to at most three digits in registers, two lanes and two warps.
std::vector<std::vector<Digit>> layouts_of(uint32_t extent) {
  std::vector<std::vector<Digit>> out;
  for (uint32_t inner = 1; inner <= extent; ++inner) {
    for (uint32_t lanes = 1; lanes <= 4; lanes *= 2) {
      for (uint32_t warps = 1; warps <= kMaxWarps; ++warps) {
        if (extent % (inner * lanes * warps) != 0) continue;
        const uint32_t outer = extent / (inner * lanes * warps);
        for (const bool lanes_first : {true, false}) {
          const Digit lane{lanes, Where::kLane, 1}, warp{warps, Where::kWarp, 1};
          out.push_back({{inner, Where::kRegister, 1},
                         lanes_first ? lane : warp,
                         lanes_first ? warp : lane,
                         {outer, Where::kRegister, inner}});
        }
      }
    }
  }
  return out;
}

AxisId static_axis(Kernel* kernel, const std::string& name, int64_t extent) {
  Axis axis;
  axis.name = name;
  axis.kind = AxisKind::kStatic;
  axis.extent = Expr(extent);
  axis.block = extent;
  return kernel->new_axis(axis);
}

/// The element of the view's array that a register of a thread holds.
int64_t element_at(const Kernel& kernel, ValueId value, const ViewPlace& place, const Place& at) {
  const std::vector<uint64_t> position = kernel.layout(value).position(at);
  int64_t out = place.offset;
  for (size_t dim = 0; dim < position.size(); ++dim) out += static_cast<int64_t>(position[dim]) * place.strides[dim];
  return out;
}

/// Checks the answer for one view: true when the pick exists.
bool check_pick(const Kernel& kernel, const Op& op) {
  const ViewPlaces places = view_places(kernel, op).value();
  const auto picked = picked_registers(kernel, op);
  const Layout& result = kernel.layout(op.result());
  bool possible = true;
  for (uint32_t reg = 0; reg < result.num_registers(); ++reg) {
    std::set<std::pair<size_t, uint32_t>> sources;  // good in every thread
    for (uint32_t thread = 0; thread < 32 * kMaxWarps; ++thread) {
      const auto place_of = [&](uint32_t r) { return Place{r, thread % 32, thread / 32, 0}; };
      const int64_t wanted = element_at(kernel, op.result(), places.result, place_of(reg));
      std::set<std::pair<size_t, uint32_t>> here;
      for (size_t i = 0; i < places.operands.size(); ++i) {
        for (uint32_t r = 0; r < kernel.layout(op.operands[i]).num_registers(); ++r) {
          if (element_at(kernel, op.operands[i], places.operands[i], place_of(r)) == wanted) here.insert({i, r});
        }
      }
      if (thread == 0) sources = here;
      std::set<std::pair<size_t, uint32_t>> both;
      std::set_intersection(sources.begin(), sources.end(), here.begin(), here.end(), std::inserter(both, both.end()));
      sources = both;
    }
    possible = possible && !sources.empty();
    if (!picked) continue;
    const std::pair<size_t, uint32_t> got{static_cast<size_t>((*picked)[2 * reg]),
                                          static_cast<uint32_t>((*picked)[2 * reg + 1])};
    EXPECT_EQ(sources.count(got), 1u) << result.to_string() << " register " << reg;
  }
  EXPECT_EQ(picked.has_value(), possible) << kernel.layout(op.operands[0]).to_string() << " to " << result.to_string();
  return picked.has_value();
}

ValueId laid_out(Kernel* kernel, std::vector<AxisId> axes, std::vector<std::vector<Digit>> digits) {
  const ValueId value = kernel->new_value(Type{DType::kF32, std::move(axes)});
  kernel->layout(value) = Layout(std::move(digits), kMaxWarps).drop({});
  return value;
}

struct Counts {
  int legal = 0;
  int free = 0;
};

TEST(PickedRegisters, slices_of_every_layout) {
  Counts counts;
  for (const auto& [extent, part, begin] : std::vector<std::array<int64_t, 3>>{
           {12, 6, 0}, {12, 6, 6}, {12, 4, 4}, {12, 3, 9}, {12, 1, 5}, {8, 4, 4}, {16, 4, 8}}) {
    for (const auto& from : layouts_of(static_cast<uint32_t>(extent))) {
      for (const auto& to : layouts_of(static_cast<uint32_t>(part))) {
        Kernel kernel;
        kernel.num_warps = kMaxWarps;
        const AxisId whole = static_axis(&kernel, "whole", extent);
        const AxisId axis = static_axis(&kernel, "part", part);
        Op op;
        op.kind = OpKind::kSlice;
        op.operands = {laid_out(&kernel, {whole}, {from})};
        op.results = {laid_out(&kernel, {axis}, {to})};
        op.set_attr("dim", int64_t{0});
        op.set_attr("begin", begin);
        if (!kernel.layout(op.operands[0]).why_illegal().empty() || !kernel.layout(op.result()).why_illegal().empty())
          continue;
        ++counts.legal;
        counts.free += check_pick(kernel, op);
      }
    }
  }
  EXPECT_GT(counts.legal, 500);
  EXPECT_GT(counts.free, 50);
}

TEST(PickedRegisters, concats_of_every_layout) {
  Counts counts;
  for (const int64_t part : {2, 3, 4, 6}) {
    for (const auto& from : layouts_of(static_cast<uint32_t>(part))) {
      for (const auto& to : layouts_of(static_cast<uint32_t>(2 * part))) {
        Kernel kernel;
        kernel.num_warps = kMaxWarps;
        const AxisId axis = static_axis(&kernel, "part", part);
        const AxisId whole = static_axis(&kernel, "whole", 2 * part);
        Op op;
        op.kind = OpKind::kConcat;
        op.operands = {laid_out(&kernel, {axis}, {from}), laid_out(&kernel, {axis}, {from})};
        op.results = {laid_out(&kernel, {whole}, {to})};
        op.set_attr("dim", int64_t{0});
        if (!kernel.layout(op.operands[0]).why_illegal().empty() || !kernel.layout(op.result()).why_illegal().empty())
          continue;
        ++counts.legal;
        counts.free += check_pick(kernel, op);
      }
    }
  }
  EXPECT_GT(counts.legal, 300);
  EXPECT_GT(counts.free, 20);
}

/// Cutting the digits of the whole gives groups that a reshape reaches for free.
TEST(PickedRegisters, reshapes_to_digits_of_every_layout_are_free) {
  Counts counts;
  for (const int64_t extent : {8, 12, 24}) {
    for (int64_t inner = 2; inner < extent; ++inner) {
      if (extent % inner != 0) continue;
      for (const auto& digits : layouts_of(static_cast<uint32_t>(extent))) {
        Kernel kernel;
        kernel.num_warps = kMaxWarps;
        const AxisId whole = static_axis(&kernel, "whole", extent);
        const AxisId high = static_axis(&kernel, "high", extent / inner);
        const AxisId low = static_axis(&kernel, "low", inner);
        Op op;
        op.kind = OpKind::kReshape;
        op.operands = {laid_out(&kernel, {whole}, {digits})};
        if (!kernel.layout(op.operands[0]).why_illegal().empty()) continue;
        ++counts.legal;
        bool can_be_cut = true;
        const auto high_digits = cut_digits(digits, inner, 0, &can_be_cut);
        const auto low_digits = cut_digits(digits, 1, inner, &can_be_cut);
        if (!can_be_cut) continue;
        op.results = {laid_out(&kernel, {high, low}, {high_digits, low_digits})};
        ++counts.free;
        EXPECT_TRUE(check_pick(kernel, op)) << kernel.layout(op.operands[0]).to_string();
      }
    }
  }
  EXPECT_GT(counts.legal, 100);
  EXPECT_GT(counts.free, 50);
}

}  // namespace
}  // namespace kaon::compiler
