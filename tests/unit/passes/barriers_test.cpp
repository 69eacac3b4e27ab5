// Barriers: no random program races with those that are placed, and none of them can be left out.
#include <random>

#include "compiler/ir/builder.h"
#include "compiler/ir/verifier.h"
#include "compiler/ir/walk.h"
#include "compiler/ir/while_builder.h"
#include "compiler/passes/assign_shared.h"
#include "compiler/passes/check_resources.h"
#include "compiler/passes/place_barriers.h"
#include "tests/support/pass_harness.h"

namespace kaon::compiler {
namespace {

constexpr uint32_t kWarps = 2;
constexpr int64_t kElements = 64;
constexpr int kTripCounts = 4;  // dims that loops take their number of rounds from

/// Random staged programs over a few buffers. Stores and loads use layouts that meet in no thread but the first.
class ProgramMaker {
 public:
  ProgramMaker(uint32_t seed, bool branches) : random_(seed), branches_(branches) {
    kernel_.stage = Stage::kStaged;
    kernel_.num_warps = kWarps;
    kernel_.signature.kernel = "random";
    for (int i = 0; i < kTripCounts; ++i) kernel_.signature.dims.push_back("trips" + std::to_string(i));
    kernel_.plan.programs = Expr(1);
    kernel_.plan.threads = kWarps * 32;
    Axis one;
    one.name = "program";
    one.kind = AxisKind::kTile;
    one.extent = Expr(1);
    one.block = 1;
    program_ = kernel_.new_axis(one);
    Axis tile;
    tile.name = "tile";
    tile.kind = AxisKind::kStatic;
    tile.extent = Expr(kElements);
    tile.block = kElements;
    tile_ = kernel_.new_axis(tile);
    const int buffers = 1 + pick(3);
    for (int i = 0; i < buffers; ++i) kernel_.shared_buffers.push_back({"b" + std::to_string(i), kElements * 4, 0});
  }

  Kernel make() {
    Builder b(kernel_);
    b.begin_grid({program_});
    for (const Layout& layout :
         {Layout({{{32, Where::kLane, 1}, {2, Where::kWarp, 1}}}, kWarps),
          Layout({{{16, Where::kLane, 2}, {2, Where::kLane, 1}, {2, Where::kWarp, 1}}}, kWarps)}) {
      stored_.push_back(b.int_const(DType::kF32, 1, {tile_}));
      kernel_.layout(stored_.back()) = layout;
    }
    condition_ = b.int_const(DType::kBool, pick(2));
    kernel_.layout(condition_) = Layout({}, kWarps);
    for (size_t i = 0; i < kernel_.shared_buffers.size(); ++i) b.shared_store(static_cast<int>(i), stored_[0]);
    fill(b, 6, 2);
    b.end();
    EXPECT_TRUE(b.status()) << b.status().to_string();
    return std::move(kernel_);
  }

 private:
  int pick(int count) { return static_cast<int>(random_() % static_cast<uint32_t>(count)); }

  void fill(Builder& b, int ops, int depth) {
    for (int i = 0; i < ops; ++i) {
      const int buffer = pick(static_cast<int>(kernel_.shared_buffers.size()));
      int kind = pick(depth > 0 ? (branches_ ? 6 : 5) : 4);
      if (kind == 4 && num_loops_ == kTripCounts) kind = pick(4);  // each loop has a trip count of its own
      if (kind < 2) {
        b.shared_store(buffer, stored_[static_cast<size_t>(pick(2))]);
      } else if (kind < 4) {
        b.shared_load(buffer, Type{DType::kF32, {tile_}},
                      Layout({{{2, Where::kWarp, 1}, {32, Where::kLane, 1}}}, kWarps));
      } else if (kind == 4 && pick(2) == 0) {
        fill_while(b, depth);
      } else if (kind == 4) {
        b.begin_loop(loop_axis());
        fill(b, 1 + pick(4), depth - 1);
        b.end();
      } else {
        b.begin_if(condition_);
        fill(b, 1 + pick(3), depth - 1);
        b.begin_else();
        fill(b, pick(3), depth - 1);
        b.end();
      }
    }
  }

  ValueId scalar(ValueId value) {
    kernel_.layout(value) = Layout({}, kWarps);
    return value;
  }

  /// Counts up to a trip count; accesses in the test happen once more than those of the body.
  void fill_while(Builder& b, int depth) {
    WhileBuilder loop(b, {scalar(b.int_const(DType::kI64, 0))});
    for (ValueId value : {loop.test_args()[0], loop.body_args()[0], loop.op().result()}) scalar(value);
    const Expr trips = Expr::slot(kernel_.signature.dim_slot(num_loops_++));
    fill(b, pick(3), depth - 1);
    loop.begin_body(scalar(b.compare(CompareFn::kLt, loop.test_args()[0], scalar(b.expr(trips)))));
    fill(b, 1 + pick(4), depth - 1);
    const ValueId one = scalar(b.int_const(DType::kI64, 1));
    loop.end({scalar(b.binary(BinaryFn::kAdd, loop.body_args()[0], one))});
  }

  AxisId loop_axis() {
    Axis axis;
    axis.name = "loop" + std::to_string(kernel_.axes.size());
    axis.kind = AxisKind::kTile;
    axis.extent = Expr::slot(kernel_.signature.dim_slot(num_loops_++));
    axis.block = 1;
    return kernel_.new_axis(axis);
  }

  std::mt19937 random_;
  bool branches_;
  int num_loops_ = 0;
  Kernel kernel_;
  AxisId program_ = kUnitAxis, tile_ = kUnitAxis;
  std::vector<ValueId> stored_;  // in two layouts
  ValueId condition_ = kNoValue;
};

/// The first failure over all ways to run each loop not at all or three times.
Status run(const Kernel& kernel) {
  for (int mask = 0; mask < 1 << kTripCounts; ++mask) {
    SimCall call;
    for (int i = 0; i < kTripCounts; ++i) call.dims.push_back((mask >> i & 1) != 0 ? 3 : 0);
    const Result<SimCounts> counts = simulate(kernel, &call);
    if (!counts) return counts.status();
  }
  return Status::ok();
}

std::vector<std::pair<Region*, size_t>> barriers_of(Kernel& kernel) {
  std::vector<std::pair<Region*, size_t>> found;
  walk(kernel.body, [&](Op& op, const OpPlace& place) {
    if (op.kind == OpKind::kBarrier) found.push_back({place.region, place.index});
  });
  return found;
}

TEST(Barriers, no_random_program_races_and_buffers_may_share_memory) {
  int programs_with_barriers = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    Kernel kernel = ProgramMaker(seed, /*branches=*/true).make();
    ASSERT_TRUE(place_barriers(kernel, target_of()));
    ASSERT_TRUE(assign_shared(kernel, target_of()));
    const Status verified = verify(kernel);
    ASSERT_TRUE(verified) << verified.to_string();
    const Status status = run(kernel);
    ASSERT_TRUE(status) << "seed " << seed << ": " << status.to_string();
    programs_with_barriers += barriers_of(kernel).empty() ? 0 : 1;
  }
  EXPECT_GT(programs_with_barriers, 200);
}

TEST(Barriers, none_can_be_left_out) {
  int removed = 0;
  for (uint32_t seed = 0; seed < 150; ++seed) {
    Kernel kernel = ProgramMaker(seed, /*branches=*/false).make();
    ASSERT_TRUE(place_barriers(kernel, target_of()));
    // Without sharing of memory, so that only accesses to the same buffer can race.
    for (size_t i = 0; i < kernel.shared_buffers.size(); ++i)
      kernel.shared_buffers[i].offset = static_cast<uint32_t>(i) * kElements * 4;
    kernel.plan.shared_bytes = static_cast<uint32_t>(kernel.shared_buffers.size()) * kElements * 4;
    const size_t count = barriers_of(kernel).size();
    for (size_t i = 0; i < count; ++i) {
      Kernel broken = clone(kernel);
      const auto [region, index] = barriers_of(broken)[i];
      region->ops.erase(region->ops.begin() + static_cast<ptrdiff_t>(index));
      const Status status = run(broken);
      ASSERT_FALSE(status) << "seed " << seed << ": barrier " << i << " of " << count << " is not needed";
      EXPECT_NE(status.message().find("race"), std::string::npos) << status.message();
      ++removed;
    }
  }
  EXPECT_GT(removed, 200);
}

TEST(Shared, buffers_of_disjoint_lifetimes_overlap_only_across_a_barrier) {
  Kernel kernel = ProgramMaker(1, false).make();
  kernel.shared_buffers = {{"a", 256, 0}, {"b", 100, 0}, {"c", 256, 0}};
  Region& region = kernel.body.ops[0]->regions[0];
  std::vector<std::unique_ptr<Op>> kept;
  for (auto& op : region.ops) {
    if (op->kind == OpKind::kConst) kept.push_back(std::move(op));
  }
  region.ops = std::move(kept);
  Builder b(kernel, region);
  const ValueId value = region.ops[0]->result();
  const Type type = kernel.type(value);
  const Layout layout = kernel.layout(value);
  for (const int buffer : {0, 2}) {
    b.shared_store(buffer, value);
    b.shared_load(buffer, type, layout);
  }
  ASSERT_TRUE(place_barriers(kernel, target_of()));
  ASSERT_TRUE(assign_shared(kernel, target_of()));
  // a is read after the last barrier that stands before c's first write.
  EXPECT_EQ(kernel.shared_buffers[0].offset, 0u);
  EXPECT_EQ(kernel.shared_buffers[2].offset, 256u);
  b.barrier();
  b.shared_store(1, value);
  ASSERT_TRUE(assign_shared(kernel, target_of()));
  EXPECT_EQ(kernel.shared_buffers[1].offset, 0u);
  EXPECT_EQ(kernel.plan.shared_bytes, 512u);
}

TEST(Resources, a_block_that_the_target_cannot_hold_is_refused_with_numbers) {
  Kernel kernel = ProgramMaker(1, false).make();
  kernel.plan.shared_bytes = 110000;
  EXPECT_TRUE(check_resources(kernel, target_of("sm_90")));
  const Status status = check_resources(kernel, target_of("sm_120"));
  EXPECT_EQ(status.code(), Code::kIllegalConfig);
  EXPECT_EQ(status.message(), "110000 bytes of shared memory, sm_120 has at most 101376 in a block");
}

}  // namespace
}  // namespace kaon::compiler
