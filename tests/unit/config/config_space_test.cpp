// Knobs, legality in words and numbers, normal form, enumeration, and what configs mean for the axes.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "compiler/config/grid_nest.h"
#include "compiler/config/tile_plan.h"
#include "compiler/ir/walk.h"
#include "tests/support/depth.h"
#include "tests/support/pass_harness.h"
#include "tests/unit/passes/kernels.h"

namespace kaon::compiler {
namespace {

TEST(ConfigSpace, knobs_are_named_after_what_they_turn) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const ConfigSpace space(logical, target_of());
  std::string names;
  for (const Knob& knob : space.knobs()) names += knob.name + " ";
  EXPECT_EQ(
      names,
      "block.m num_warps vec reduce.N split.N versions.N longer.N keep.N lanes.N num_stages unroll.N shift.N div.N "
      "index evict.x evict.out maxnreg ");
  EXPECT_EQ(space.default_config().to_text(), "block.m=1 div.N=8 index=64 num_warps=4 reduce.N=resident(4) vec=8");
  EXPECT_EQ(space.find("vec")->default_value, "8");
  EXPECT_EQ(space.find("block.N"), nullptr);
  const Kernel f32 = logical_kernel(kSoftmax, DType::kF32);
  EXPECT_EQ(ConfigSpace(f32, target_of()).find("vec")->default_value, "4");
  EXPECT_EQ(ConfigSpace(f32, target_of()).find("keep.N"), nullptr);  // nothing to pack
}

TEST(ConfigSpace, softmax_has_some_ten_thousand_legal_configs_in_canonical_order) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const ConfigSpace space(logical, target_of());
  const std::vector<Config> all = space.enumerate(kAllCases ? SIZE_MAX : 3000);
  EXPECT_GT(all.size(), 300u);
  EXPECT_LT(all.size(), 40000u);
  EXPECT_GE(space.size(), all.size());
  std::set<uint64_t> fingerprints;
  for (const Config& config : all) {
    EXPECT_EQ(space.why_illegal(config), "") << config.to_text();
    EXPECT_EQ(space.normalize(config), config) << config.to_text();
    EXPECT_TRUE(fingerprints.insert(config.fingerprint()).second) << config.to_text();
  }
  const std::vector<Config> first = space.enumerate(10);
  ASSERT_EQ(first.size(), 10u);
  for (size_t i = 0; i < first.size(); ++i) EXPECT_EQ(first[i], all[i]);
}

TEST(ConfigSpace, why_illegal_has_words_and_numbers) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const ConfigSpace space(logical, target_of());
  const auto why = [&](const char* text) { return space.why_illegal(config_of(text)); };
  EXPECT_EQ(why("blok.m=1").rfind("no knob blok.m; this kernel has block.m, num_warps", 0), 0u);
  EXPECT_EQ(why("num_warps=33"), "num_warps=33: expected an integer from 1 to 32");
  EXPECT_EQ(why("num_warps=few"), "num_warps=few: expected an integer from 1 to 32");
  EXPECT_EQ(why("block.m=3"), "block.m=3 is no power of two");
  EXPECT_EQ(why("split.N=4"), "split.N=4: expected 1, cluster(2), cluster(4) or cluster(8)");
  EXPECT_EQ(why("split.N=cluster(3)"), "split.N=cluster(3): expected 1, cluster(2), cluster(4) or cluster(8)");
  EXPECT_EQ(why("num_warps=2 block.m=4 split.N=cluster(2)"),
            "rows of N would lie within one block each; leave out split");
  EXPECT_EQ(ConfigSpace(logical, target_of("sm_80")).why_illegal(config_of("split.N=cluster(2)")),
            "sm_80 has no clusters of blocks");
  EXPECT_EQ(ConfigSpace(logical, target_of("host")).why_illegal(config_of("num_warps=16 split.N=cluster(4)")),
            "2048 threads, host has at most 1024 in a block; lower num_warps or split");
  EXPECT_EQ(why("vec=3"), "vec=3 is no power of two");
  EXPECT_EQ(why("reduce.N=whole"), "reduce.N=whole: expected resident(1...64) or chunk(a power of two up to 65536)");
  EXPECT_EQ(why("num_warps=4 reduce.N=chunk(1000)"),
            "reduce.N=chunk(1000): expected resident(1...64) or chunk(a power of two up to 65536)");
  EXPECT_EQ(why("num_warps=4 lanes.N=128 reduce.N=chunk(512)"),
            "a tile of 512 along N is no multiple of 128 threads x 8 elements");
  EXPECT_EQ(why("num_warps=4 lanes.N=24"),
            "lanes.N=24 is neither a power of two up to 32 nor whole warps that divide 4 warps");
  EXPECT_EQ(why("num_warps=4 lanes.N=96"),
            "lanes.N=96 is neither a power of two up to 32 nor whole warps that divide 4 warps");
  EXPECT_EQ(why("num_warps=32 reduce.N=resident(8)"),
            "64 elements of a tile in one thread need about 88 registers, at 1024 threads there are 64");
  EXPECT_EQ(why("num_warps=2 reduce.N=resident(33)"),
            "264 elements of a tile in one thread need about 288 registers, at 64 threads there are 255");
  EXPECT_EQ(why("num_warps=4 block.m=2 lanes.N=32"),
            "only 64 of 128 threads would have work of their own; lower num_warps or raise a block");
  EXPECT_EQ(why("shift.N=1 vec=1"), "shift.N=1: with vec=1 every address is aligned");
  EXPECT_EQ(why("shift.N=2"), "shift.N=2: expected 0 or 1");
  EXPECT_EQ(why("div.N=4"), "div.N=4 is no multiple of vec=8");
  EXPECT_EQ(why("evict.x=never"), "evict.x=never: expected default, stream or cs");
  EXPECT_EQ(why("keep.N=both"), "keep.N=both: expected values or input");
  EXPECT_NE(why("num_warps=16 reduce.N=resident(16)"), "");
  EXPECT_EQ(why("num_warps=16 reduce.N=resident(16) keep.N=input"), "");
  EXPECT_EQ(why("index=16"), "index=16: expected 32 or 64");
  EXPECT_EQ(why("maxnreg=8"), "maxnreg=8: expected an integer from 24 to 255");
  EXPECT_EQ(why("num_warps=7 reduce.N=resident(7)"), "");
}

TEST(ConfigSpace, parts_that_end_where_data_says_have_no_shifted_window) {
  const char* const text = R"(
kernel part_sum(x: f16[M, N], count: i64[M]) -> (out: f32[M]) {
  for m in tile(M, block=1) {
    let used = count[m.begin];
    out[m] = sum(f32(x[m, 0:used]), dim=1);
  }
}
)";
  const Kernel logical = logical_kernel(text);
  const ConfigSpace space(logical, target_of());
  const auto is_shift = [](const Knob& knob) { return knob.name.rfind("shift.", 0) == 0; };
  const auto shift = std::find_if(space.knobs().begin(), space.knobs().end(), is_shift);
  ASSERT_NE(shift, space.knobs().end());
  EXPECT_EQ(shift->choices, std::vector<std::string>{"0"});
  EXPECT_EQ(space.why_illegal(config_of(shift->name + "=1")),
            shift->name + "=1: the extent is data, and a window covers whole rows only");
  EXPECT_EQ(space.why_illegal(config_of(shift->name + "=0")), "");
}

TEST(ConfigSpace, loops_are_scheduled_where_there_are_any) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const ConfigSpace space(logical, target_of());
  const auto why = [&](const char* text) { return space.why_illegal(config_of(text)); };
  const auto text = [&](const char* config) { return space.normalize(config_of(config)).to_text(); };
  EXPECT_EQ(why("reduce.N=chunk(1024) num_stages=3"), "");
  EXPECT_EQ(text("reduce.N=resident(4) num_stages=3 unroll.N=2"), text("reduce.N=resident(4)"));
  EXPECT_NE(text("reduce.N=chunk(1024) num_stages=3"), text("reduce.N=chunk(1024)"));
  EXPECT_EQ(text("reduce.N=chunk(1024) num_stages=1 unroll.N=1"), text("reduce.N=chunk(1024)"));
  EXPECT_EQ(why("reduce.N=chunk(1024) num_stages=9"), "num_stages=9: expected an integer from 1 to 8");
  EXPECT_EQ(why("reduce.N=chunk(1024) unroll.N=0"), "unroll.N=0: expected an integer from 1 to 8");
  EXPECT_EQ(why("reduce.N=chunk(1024) unroll.N=2 num_stages=3"),
            "unroll.N=2: num_stages=3 repeats the body of the loop over N already, once for each stage");
  EXPECT_EQ(
      why("num_warps=16 reduce.N=chunk(32768) num_stages=3"),
      "num_stages=3: 2 turns of the loop over N with 32 registers in flight each need about 152 registers, at 512 "
      "threads there are 128");
  const Kernel add = logical_kernel(kVectorAdd);
  EXPECT_EQ(ConfigSpace(add, target_of()).why_illegal(config_of("num_stages=2")),
            "num_stages=2: this kernel has no loop with a load that could be issued before its turn");
}

TEST(ConfigSpace, blocks_share_jagged_rows_where_their_threads_lie_along_them) {
  const char* const text = R"(
kernel rows(x: f32[B, N, F], lengths: i64[B]) -> (out: f32[B, F]) {
  for b, f in tile(B, F) {
    var total = zeros(f32, b, f);
    for k in jagged_tile(lengths[b]) { total += sum(x[b, k, f], dim=1); }
    out[b, f] = total;
  }
}
)";
  const Kernel logical = logical_kernel(text);
  const ConfigSpace space(logical, target_of());
  const auto why = [&](const char* config) { return space.why_illegal(config_of(config)); };
  ASSERT_NE(space.find("split.k"), nullptr);
  EXPECT_EQ(why("num_warps=2 block.b=1 block.k=16 block.f=64 split.k=cluster(4)"), "");
  EXPECT_EQ(why("num_warps=2 block.b=8 block.k=2 block.f=64 split.k=cluster(4)"),
            "rows of k would lie within one block each; leave out split");
  EXPECT_EQ(why("num_warps=8 block.b=1 block.k=64 block.f=128 split.k=cluster(8)"),
            "what 64 warps along k come to takes about 792 registers of each thread, there are 255; lower num_warps or "
            "split");
  EXPECT_EQ(ConfigSpace(logical, target_of("sm_89")).why_illegal(config_of("split.k=cluster(4)")),
            "sm_89 has no clusters of blocks");
}

TEST(ConfigSpace, tiles_of_walked_rows_are_searched_from_short_to_long) {
  const char* text = R"(kernel sums(x: f32[NNZ, F], offsets: i64[B + 1]) -> (out: f32[B, F]) {
  let K = block(NNZ);
  for b, f in tile(B, F) {
    let starts = offsets[b];
    var total = zeros(f32, b, K, f);
    for k in jagged_tile(offsets[b.index + 1] - starts, block=K) {
      total += x[starts[:, None] + k.index[None, :], f];
    }
    out[b, f] = sum(total, dim=1);
  }
}
)";
  const Kernel logical = logical_kernel(text);
  const ConfigSpace space(logical, target_of());
  const auto choices = [&](const char* name) {
    const auto knob =
        std::find_if(space.knobs().begin(), space.knobs().end(), [&](const Knob& k) { return k.name == name; });
    std::string joined;
    for (const std::string& choice : knob->choices) joined += choice + " ";
    return joined;
  };
  EXPECT_EQ(choices("block.K"), "1 2 4 8 16 32 64 128 256 512 ");
  EXPECT_EQ(choices("block.b"), "1 2 4 8 ");
  EXPECT_EQ(choices("block.f").substr(0, 10), "32 64 128 ");
  EXPECT_EQ(choices("lanes.f"), "auto 8 16 32 ");
  EXPECT_EQ(space.why_illegal(config_of("block.b=1 block.f=128 block.K=64 lanes.f=32 num_warps=8")), "");
}

TEST(ConfigSpace, equal_code_has_equal_text) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const ConfigSpace space(logical, target_of());
  const auto same = [&](const char* a, const char* b) {
    EXPECT_EQ(space.normalize(config_of(a)).to_text(), space.normalize(config_of(b)).to_text());
  };
  same("num_warps=4 lanes.N=128", "num_warps=4");
  same("num_warps=4 block.m=4 lanes.N=32", "num_warps=4 block.m=4 lanes.N=auto");
  same("vec=1 div.N=8", "vec=1 div.N=1");
  same("shift.N=1 div.N=8", "shift.N=1 div.N=1");
  same("evict.out=stream", "evict.out=cs");
  same("reduce.N=chunk(1024) keep.N=input", "reduce.N=chunk(1024)");
  same("maxnreg=0 evict.x=default shift.N=0", "vec=8");
  EXPECT_NE(space.normalize(config_of("num_warps=1 block.m=4 lanes.N=32")),
            space.normalize(config_of("num_warps=1 block.m=4")));
}

TEST(ConfigSpace, generic_configs_are_legal_for_every_kernel) {
  for (const char* text : {kSoftmax, kVectorAdd, kRowSum, kLogSumExp, kNormalise, kScaleBias, kColumnSum, kPlaneSum}) {
    const Kernel logical = logical_kernel(text);
    const ConfigSpace space(logical, target_of());
    EXPECT_EQ(space.why_illegal(space.generic_config()), "") << text;
    EXPECT_EQ(space.why_illegal(space.default_config()), "") << text;
    const Result<Kernel> staged = run_pipeline(logical, space.generic_config(), target_of());
    ASSERT_TRUE(staged) << text << staged.status().to_string();
    EXPECT_TRUE(staged->guards.empty()) << text;
    EXPECT_TRUE(run_pipeline(logical, space.default_config(), target_of())) << text;
  }
}

/// Layout of the widest value under a config.
std::string layout_under(const char* kernel_text, const char* config_text) {
  const Kernel logical = logical_kernel(kernel_text, DType::kF16);
  const ConfigSpace space(logical, target_of());
  const std::vector<AxisSet> sets = find_axis_sets(logical);
  const Result<TilePlan> plan = plan_tiles(logical, sets, space.normalize(config_of(config_text)));
  return plan ? plan->layout(0, sets[0].axes).to_string() : plan.status().message();
}

TEST(TilePlan, vectors_then_threads_then_repetitions_and_rows_with_what_is_left) {
  EXPECT_EQ(layout_under(kSoftmax, "num_warps=8 reduce.N=resident(7)"), "[1 | 8r1 32l1 8w1 7r8] warps 8");
  EXPECT_EQ(layout_under(kSoftmax, "num_warps=7 reduce.N=resident(7)"), "[1 | 8r1 32l1 7w1 7r8] warps 7");
  EXPECT_EQ(layout_under(kSoftmax, "num_warps=4 block.m=4 reduce.N=resident(2)"), "[4w1 | 8r1 32l1 2r8] warps 4");
  EXPECT_EQ(layout_under(kSoftmax, "num_warps=2 block.m=8 reduce.N=resident(1)"), "[4l8 2w1 | 8r1 8l1] warps 2");
  EXPECT_EQ(layout_under(kSoftmax, "num_warps=4 block.m=2 reduce.N=chunk(1024)"), "[2w2 | 8r1 32l1 2w1 2r8] warps 4");
  EXPECT_EQ(layout_under(kSoftmax, "num_warps=1 block.m=4 lanes.N=32 reduce.N=resident(1)"),
            "[4r8 | 8r1 32l1] warps 1");
  EXPECT_EQ(layout_under(kScaleBias, "num_warps=6 block.m=2 block.n=768"), "block.n=768 is no power of two");
  EXPECT_EQ(layout_under(kScaleBias, "num_warps=4 block.m=2 block.n=1024"), "[2w2 | 8r1 32l1 2w1 2r8] warps 4");
}

TEST(LinearForm, reads_what_guards_can_bound) {
  const Expr n = Expr::slot(3);
  const auto form = [](const Expr& e) {
    const auto f = linear_form(e);
    return f ? std::to_string(f->slot) + ":" + std::to_string(f->scale) + ":" + std::to_string(f->offset) : "none";
  };
  EXPECT_EQ(form(n), "3:1:0");
  EXPECT_EQ(form(n * Expr(2) + Expr(1)), "3:2:1");
  EXPECT_EQ(form(Expr(7)), "-1:0:7");
  EXPECT_EQ(form(n + n), "3:2:0");
  EXPECT_EQ(form(n - n), "-1:0:0");
  EXPECT_EQ(form(Expr(5) - n), "none");
  EXPECT_EQ(form(n * n), "none");
  EXPECT_EQ(form(n + Expr::slot(4)), "none");
  EXPECT_EQ(form(floor_div(n, Expr(2))), "none");
}

TEST(GridNest, only_scalar_ops_may_stand_between_tiles) {
  const char* nested = R"(
kernel nested(x: f32[B, M, N]) -> (out: f32[B, M, N]) {
  for b in tile(B, block=1) { for m, n in tile(M, N) { out[b, m, n] = x[b, m, n]; } }
}
)";
  const char* broken = R"(
kernel broken(x: f32[B, N]) -> (out: f32[B, N]) {
  for b in tile(B, block=1) {
    let total = sum(x[b, :], dim=1, keepdim=true);
    for n in tile(N) { out[b, n] = x[b, n] / total; }
  }
}
)";
  EXPECT_EQ(find_grid_nest(logical_kernel(nested)).axes.size(), 3u);
  EXPECT_EQ(find_grid_nest(logical_kernel(broken)).axes.size(), 1u);
  const Kernel logical = logical_kernel(nested);
  EXPECT_NE(ConfigSpace(logical, target_of()).find("grid.depth"), nullptr);
}

const char* const kTwoWays = R"(
kernel two_ways(x: f32[M, N], tunable PARTS: i64 in (1, 2)) -> (out: f32[M])
impl rows {
  for m in tile(M) { out[m] = sum(x[m, :], dim=1) * f32(PARTS) / f32(PARTS); }
}
impl tiles {
  for m in tile(M) {
    var acc = zeros(f32, m);
    for n in tile(N) { acc += sum(x[m, n], dim=1); }
    out[m] = acc;
  }
}
)";

TEST(ConfigSpace, a_config_chooses_a_body_and_turns_the_knobs_of_that_one) {
  const Kernel logical = logical_kernel(kTwoWays, DType::kF32);
  const ConfigSpace space(logical, target_of());
  EXPECT_EQ(space.knobs()[0].name, "tune.PARTS");
  EXPECT_EQ(space.knobs()[1].name, "impl");
  EXPECT_EQ(space.default_config().get("impl", ""), "rows");
  Config config;
  config.set("impl", "tiles");
  config.set("tune.PARTS", 2);
  config.set("reduce.N", "chunk(1024)");  // of the other body
  const Config normal = space.normalize(config);
  EXPECT_EQ(normal.find("reduce.N"), nullptr);
  EXPECT_NE(normal.find("block.n"), nullptr);
  EXPECT_EQ(normal.get("tune.PARTS", ""), "2");
  EXPECT_EQ(space.normalize(normal), normal);
  config.set("impl", "columns");
  EXPECT_EQ(space.why_illegal(config), "impl=columns: expected one of rows, tiles");

  std::map<std::string, int> bodies;
  for (const Config& each : space.enumerate(SIZE_MAX)) {
    EXPECT_EQ(space.why_illegal(each), "") << each.to_text();
    EXPECT_EQ(space.normalize(each), each) << each.to_text();
    ++bodies[each.get("impl", "") + each.get("tune.PARTS", "")];
  }
  EXPECT_EQ(bodies.size(), 4u);

  const Result<Kernel> staged = run_pipeline(logical, normal, target_of(), {});
  ASSERT_TRUE(staged) << staged.status().message();
  EXPECT_EQ(staged->config.get("impl", ""), "tiles");
  const auto has_n = [](const Axis& axis) { return axis.name == "n"; };
  EXPECT_TRUE(std::any_of(staged->axes.begin(), staged->axes.end(), has_n));
}

}  // namespace
}  // namespace kaon::compiler
