// Element-wise and many-axis kernels through the whole pipeline, simulated and compared with plain loops.
#include <cmath>
#include <random>

#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "tests/support/depth.h"
#include "tests/support/pass_harness.h"
#include "tests/support/random_config.h"
#include "tests/unit/passes/kernels.h"

namespace kaon::compiler {
namespace {

TEST(TileKernels, vector_add_serves_every_length_that_its_guards_accept) {
  const Kernel logical = logical_kernel(kVectorAdd, DType::kF32);
  const struct {
    const char* config;
    bool odd;
  } cases[] = {{"block.i=512 num_warps=4", false},
               {"block.i=2048 num_warps=2 div.N=1", true},
               {"block.i=1024 num_warps=4 vec=8 div.N=1 evict.x=stream", true},
               {"block.i=128 num_warps=4 vec=1 index=32", true}};
  for (const auto& c : cases) {
    const Kernel staged = staged_kernel(logical, config_of(c.config));
    for (const int64_t n : {0, 1, 127, 1000, 8192, 8193}) {
      SimCall call;
      call.dims = {n};
      call.tensors = {dense_tensor({n}, kFarApart), dense_tensor({n}, 2 * kFarApart), dense_tensor({n}, 3 * kFarApart)};
      fill(&call.tensors[0]);
      fill(&call.tensors[1], 3);
      EXPECT_EQ(accepts(staged, call), c.odd || n % 4 == 0) << c.config << ", N = " << n;
      if (!accepts(staged, call)) continue;
      const Result<SimCounts> counts = simulate(staged, &call);
      ASSERT_TRUE(counts) << c.config << ": " << counts.status().to_string();
      EXPECT_EQ(counts->barriers, 0);
      for (size_t i = 0; i < static_cast<size_t>(n); ++i) {
        ASSERT_EQ(call.tensors[2].data[i], call.tensors[0].data[i] + call.tensors[1].data[i])
            << c.config << " at " << i;
      }
    }
    SimCall unaligned;
    unaligned.dims = {64};
    unaligned.tensors = {dense_tensor({64}, kFarApart + 4), dense_tensor({64}, 2 * kFarApart),
                         dense_tensor({64}, 3 * kFarApart)};
    EXPECT_EQ(accepts(staged, unaligned), std::string(c.config).find("vec=1") != std::string::npos) << c.config;
  }
}

TEST(TileKernels, two_axes_share_threads_and_broadcast_operands_stay_in_place) {
  const Kernel logical = logical_kernel(kScaleBias, DType::kF16);
  for (const char* text :
       {"block.m=1 block.n=256 num_warps=1", "block.m=4 block.n=256 num_warps=4 div.N=1",
        "block.m=8 block.n=512 num_warps=2 lanes.n=16 grid.depth=1", "block.m=2 block.n=256 num_warps=2 vec=1"}) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    for (const auto& [m, n] : {std::pair<int64_t, int64_t>{1, 8}, {7, 1000}, {3, 256}, {0, 16}}) {
      SimCall call;
      call.dims = {m, n};
      call.tensors = {dense_tensor({m, n}, kFarApart, 8), dense_tensor({n}, 2 * kFarApart),
                      dense_tensor({m, n}, 3 * kFarApart)};
      const float factor = 2.5f;
      int64_t bits = 0;
      __builtin_memcpy(&bits, &factor, sizeof factor);
      call.scalar_slots = {bits};
      fill(&call.tensors[0]);
      fill(&call.tensors[1], 9);
      ASSERT_TRUE(accepts(staged, call)) << text;
      const Result<SimCounts> counts = simulate(staged, &call);
      ASSERT_TRUE(counts) << text << ": " << counts.status().to_string();
      for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
          const double x = call.tensors[0].data[static_cast<size_t>(i * (n + 8) + j)];
          const double expected = x * 2.5 + call.tensors[1].data[static_cast<size_t>(j)];
          ASSERT_EQ(call.tensors[2].data[static_cast<size_t>(i * n + j)], expected) << text << " at " << i << ", " << j;
        }
      }
    }
  }
}

TEST(TileKernels, columns_are_summed_with_contiguous_accesses) {
  const Kernel logical = logical_kernel(kColumnSum);
  for (const char* text : {"block.n=128 num_warps=4 reduce.M=resident(16)", "block.n=128 num_warps=2 reduce.M=chunk(8)",
                           "block.n=64 num_warps=1 vec=2 lanes.n=4 reduce.M=chunk(32) div.N=1"}) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    for (const int64_t m : {0, 1, 13, 45}) {
      const int64_t n = 200;
      SimCall call;
      call.dims = {m, n};
      call.tensors = {dense_tensor({m, n}, kFarApart), dense_tensor({n}, 2 * kFarApart)};
      fill(&call.tensors[0]);
      if (!accepts(staged, call)) continue;
      const Result<SimCounts> counts = simulate(staged, &call);
      ASSERT_TRUE(counts) << text << ": " << counts.status().to_string();
      for (int64_t j = 0; j < n; ++j) {
        double expected = 0;
        for (int64_t i = 0; i < m; ++i) expected += call.tensors[0].data[static_cast<size_t>(i * n + j)];
        ASSERT_NEAR(call.tensors[1].data[static_cast<size_t>(j)], expected, 1e-9) << text << " at " << j;
      }
    }
  }
}

TEST(TileKernels, two_rolled_axes_become_nested_loops) {
  const Kernel logical = logical_kernel(kPlaneSum);
  const ConfigSpace space(logical, target_of());
  for (const Config& config : {space.generic_config(), config_of("num_warps=2 reduce.M=chunk(4) reduce.N=chunk(256)"),
                               config_of("num_warps=2 reduce.M=chunk(8) reduce.N=resident(16)")}) {
    const Kernel staged = staged_kernel(logical, config);
    int deepest = 0;
    walk(staged.body, [&](const Op& op, const ConstOpPlace& place) {
      if (op.kind == OpKind::kLoop) deepest = std::max(deepest, place.parent->kind == OpKind::kLoop ? 2 : 1);
    });
    EXPECT_EQ(deepest, config.get("reduce.N", "").find("chunk") == 0 ? 2 : 1) << config.to_text();
    SimCall call;
    call.dims = {2, 11, 300};
    call.tensors = {dense_tensor({2, 11, 300}, kFarApart), dense_tensor({2}, 2 * kFarApart)};
    fill(&call.tensors[0]);
    ASSERT_TRUE(accepts(staged, call)) << config.to_text();
    const Result<SimCounts> counts = simulate(staged, &call);
    ASSERT_TRUE(counts) << config.to_text() << ": " << counts.status().to_string() << print(staged);
    for (size_t b = 0; b < 2; ++b) {
      double expected = 0;
      for (size_t i = 0; i < 3300; ++i) expected += call.tensors[0].data[b * 3300 + i];
      EXPECT_NEAR(call.tensors[1].data[b], expected, 1e-6) << config.to_text();
    }
  }
}

TEST(TileKernels, views_move_no_data_where_lanes_are_shared_and_the_right_data_elsewhere) {
  const Kernel logical = logical_kernel(R"(
kernel swap_and_turn(x: f32[M, 24]) -> (halves: f32[M, 24], turned: f32[M, 24]) {
  for m in tile(M) {
    let a, b = chunk(x[m, :], 2, dim=1);
    halves[m, :] = concat((b, a), dim=1);
    turned[m, :] = x[m, :].reshape(m, 4, 6).permute(0, 2, 1).reshape(m, 24);
  }
}
)");
  // Halves stay in place; groups that are turned do where one thread has a whole row.
  const std::pair<const char*, size_t> cases[] = {
      {"block.m=8 num_warps=1", 1}, {"block.m=64 num_warps=2 vec=1", 0}, {"block.m=4 num_warps=1 vec=2", 1}};
  for (const auto& [text, buffers] : cases) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    EXPECT_EQ(staged.shared_buffers.size(), buffers) << text;
    SimCall call;
    call.dims = {21};
    call.tensors = {dense_tensor({21, 24}, kFarApart), dense_tensor({21, 24}, 2 * kFarApart),
                    dense_tensor({21, 24}, 3 * kFarApart)};
    fill(&call.tensors[0]);
    const Result<SimCounts> counts = simulate(staged, &call);
    ASSERT_TRUE(counts) << text << ": " << counts.status().to_string();
    for (size_t m = 0; m < 21; ++m) {
      for (size_t j = 0; j < 24; ++j) {
        const auto x = [&](size_t column) { return call.tensors[0].data[m * 24 + column]; };
        ASSERT_EQ(call.tensors[1].data[m * 24 + j], x((j + 12) % 24)) << text;
        ASSERT_EQ(call.tensors[2].data[m * 24 + j], x(j % 4 * 6 + j / 4)) << text;
      }
    }
  }
}

TEST(TileKernels, every_config_of_a_sample_of_the_space_compiles_and_is_right) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const ConfigSpace space(logical, target_of());
  std::mt19937 random(1);
  int run = 0;
  for (int i = 0; i < depth(60, 20); ++i) {
    const Config config = random_config(space, &random);
    const Result<Kernel> staged = run_pipeline(logical, config, target_of());
    ASSERT_TRUE(staged) << config.to_text() << ": " << staged.status().to_string();
    SimCall call;
    call.dims = {3, 136};
    call.tensors = {dense_tensor({3, 136}, kFarApart), dense_tensor({3, 136}, 2 * kFarApart)};
    fill(&call.tensors[0]);
    if (!accepts(*staged, call)) continue;
    ++run;
    const Result<SimCounts> counts = simulate(*staged, &call);
    ASSERT_TRUE(counts) << config.to_text() << ": " << counts.status().to_string();
    for (size_t m = 0; m < 3; ++m) {
      double total = 0;
      for (size_t j = 0; j < 136; ++j) total += std::exp(call.tensors[0].data[m * 136 + j]);
      for (size_t j = 0; j < 136; ++j) {
        ASSERT_NEAR(call.tensors[1].data[m * 136 + j], std::exp(call.tensors[0].data[m * 136 + j]) / total, 1e-9)
            << config.to_text();
      }
    }
  }
  EXPECT_GT(run, 5);
}

}  // namespace
}  // namespace kaon::compiler
