// Kernels that leave the straight path: static axes, slices, transposes, outputs in place, two tiles that meet in a
// row.
#include <cmath>

#include "compiler/ir/builder.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/walk.h"
#include "tests/support/pass_harness.h"
#include "tests/unit/passes/kernels.h"

namespace kaon::compiler {
namespace {

SimCall call_of(std::vector<int64_t> dims, const std::vector<std::vector<int64_t>>& shapes) {
  SimCall call;
  call.dims = std::move(dims);
  for (size_t i = 0; i < shapes.size(); ++i) {
    call.tensors.push_back(dense_tensor(shapes[i], static_cast<int64_t>(i + 1) * kFarApart));
    fill(&call.tensors.back(), static_cast<int64_t>(i));
  }
  return call;
}

void run(const Kernel& staged, SimCall* call, const std::string& what) {
  ASSERT_TRUE(accepts(staged, *call)) << what;
  const Result<SimCounts> counts = simulate(staged, call);
  ASSERT_TRUE(counts) << what << ": " << counts.status().to_string() << "\n" << print(staged);
}

int64_t count_ops(const Kernel& kernel, OpKind kind) {
  int64_t count = 0;
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) { count += op.kind == kind ? 1 : 0; });
  return count;
}

TEST(OddKernels, static_rows_of_any_width_are_laid_out_whole) {
  for (const int64_t width : {3, 6, 64, 96, 128}) {
    const std::string n = std::to_string(width);
    const Kernel logical = logical_kernel("kernel rows(x: f32[M, " + n + "]) -> (out: f32[M, " + n + R"(]) {
      for m in tile(M) { out[m, :] = x[m, :] - sum(x[m, :], dim=1, keepdim=true); }
    })");
    for (const char* text : {"num_warps=1 block.m=8", "num_warps=2 block.m=64", "num_warps=4 block.m=128 vec=2"}) {
      const Kernel staged = staged_kernel(logical, config_of(text));
      SimCall call = call_of({21}, {{21, width}, {21, width}});
      run(staged, &call, n + " " + text);
      for (int64_t m = 0; m < 21; ++m) {
        double total = 0;
        for (int64_t j = 0; j < width; ++j) total += call.tensors[0].data[static_cast<size_t>(m * width + j)];
        for (int64_t j = 0; j < width; ++j) {
          const auto at = static_cast<size_t>(m * width + j);
          ASSERT_NEAR(call.tensors[1].data[at], call.tensors[0].data[at] - total, 1e-9) << n << " " << text;
        }
      }
    }
  }
}

TEST(OddKernels, a_transpose_is_contiguous_on_one_side) {
  Kernel logical = logical_kernel(
      "kernel turn(x: f32[M, N], y: f32[N, M]) -> (out: f32[M, N]) { for m, n in tile(M, N) { out[m, n] = x[m, n]; } "
      "}");
  // The sum with a permuted tile of y is written here, as the language has no transpose yet.
  Region& region = logical.body.ops[0]->regions[0];
  const AxisId m = logical.type(region.ops[0]->result()).axes[0];
  const AxisId n = logical.type(region.ops[0]->result()).axes[1];
  Builder b(logical, region, 1);
  const ValueId turned = b.permute(b.load(1, {Subscript::along(n), Subscript::along(m)}), {1, 0});
  region.ops.back()->operands[0] = b.binary(BinaryFn::kAdd, region.ops[0]->result(), turned);
  ASSERT_TRUE(b.status()) << b.status().to_string();
  const Kernel staged = staged_kernel(logical, config_of("block.m=4 block.n=128 num_warps=4"));
  SimCall call = call_of({9, 140}, {{9, 140}, {140, 9}, {9, 140}});
  run(staged, &call, "turn");
  std::vector<int64_t> vectors;
  walk(staged.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind == OpKind::kLoad) vectors.push_back(op.int_attr("vector"));
  });
  EXPECT_EQ(vectors, (std::vector<int64_t>{4, 1}));
  for (size_t i = 0; i < 9; ++i) {
    for (size_t j = 0; j < 140; ++j) {
      ASSERT_EQ(call.tensors[2].data[i * 140 + j], call.tensors[0].data[i * 140 + j] + call.tensors[1].data[j * 9 + i]);
    }
  }
}

TEST(OddKernels, two_tiles_that_meet_in_a_row_are_converted) {
  const Kernel logical = logical_kernel(R"(
kernel meet(x: f32[M, N], y: f32[M, K]) -> (out: f32[M, K]) {
  for m in tile(M) { out[m, :] = y[m, :] * sum(x[m, :], dim=1, keepdim=true); }
}
)");
  const struct {
    const char* config;
    bool converts;
  } cases[] = {{"num_warps=2 block.m=2 reduce.N=resident(4) reduce.K=resident(4)", false},
               {"num_warps=4 block.m=4 lanes.N=32 reduce.N=resident(4) lanes.K=16 reduce.K=resident(4)", true},
               {"num_warps=4 block.m=4 lanes.N=32 reduce.N=chunk(256) lanes.K=128 reduce.K=chunk(512)", true}};
  for (const auto& c : cases) {
    const Kernel staged = staged_kernel(logical, config_of(c.config));
    bool converts = false;
    for (const SharedBuffer& buffer : staged.shared_buffers)
      converts = converts || buffer.name.rfind("convert", 0) == 0;
    EXPECT_EQ(converts, c.converts) << c.config;
    SimCall call = call_of({5, 320, 160}, {{5, 320}, {5, 160}, {5, 160}});
    run(staged, &call, c.config);
    for (size_t m = 0; m < 5; ++m) {
      double total = 0;
      for (size_t j = 0; j < 320; ++j) total += call.tensors[0].data[m * 320 + j];
      for (size_t j = 0; j < 160; ++j) {
        ASSERT_NEAR(call.tensors[2].data[m * 160 + j], call.tensors[1].data[m * 160 + j] * total, 1e-6) << c.config;
      }
    }
  }
}

TEST(OddKernels, softmax_in_place_reads_all_before_it_writes) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF32);
  for (const char* text : {"num_warps=2 reduce.N=chunk(256)", "num_warps=2 reduce.N=resident(4)"}) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    SimCall apart = call_of({4, 700}, {{4, 700}, {4, 700}});
    run(staged, &apart, text);
    for (int64_t m = 0; m < 4; ++m) {
      double total = 0;
      for (int64_t j = 0; j < 700; ++j) total += apart.tensors[1].data[static_cast<size_t>(m * 700 + j)];
      EXPECT_NEAR(total, 1, 1e-9) << text;
    }
    // In every region, no load of x follows a store of out.
    walk(staged.body, [&](const Op& op, const ConstOpPlace& place) {
      if (op.kind != OpKind::kStore) return;
      for (size_t i = place.index + 1; i < place.region->ops.size(); ++i) {
        EXPECT_NE(place.region->ops[i]->kind, OpKind::kLoad) << text;
        EXPECT_NE(place.region->ops[i]->kind, OpKind::kLoop) << text;
      }
    });
  }
}

TEST(OddKernels, narrow_indices_are_guarded_by_spans) {
  const Kernel logical = logical_kernel(kVectorAdd, DType::kF32);
  const Kernel staged = staged_kernel(logical, config_of("index=32 block.i=512 num_warps=4 vec=1"));
  const auto accepts_stride = [&](int64_t stride) {
    SimCall call = call_of({64}, {{64}, {64}, {64}});
    call.tensors[1].strides = {stride};
    return accepts(staged, call);
  };
  EXPECT_TRUE(accepts_stride(1));
  EXPECT_TRUE(accepts_stride(INT32_MAX / 63)) << "the last element's offset fits";
  EXPECT_FALSE(accepts_stride(INT32_MAX / 63 + 1));
}

TEST(OddKernels, dead_code_and_unread_tiles_cost_nothing) {
  const Kernel logical = logical_kernel(R"(
kernel idle(x: f32[M, N]) -> (out: f32[M]) {
  for m in tile(M) {
    let unused = sum(x[m, :] * 2.0, dim=1);
    out[m] = 1.0;
  }
}
)");
  const ConfigSpace space(logical, target_of());
  EXPECT_EQ(space.find("reduce.N"), nullptr) << "nobody reads the row";
  const Kernel staged = staged_kernel(logical, space.default_config());
  EXPECT_EQ(count_ops(staged, OpKind::kLoad), 0);
  SimCall call = call_of({72, 3}, {{72, 3}, {72}});
  run(staged, &call, "idle");
  for (const double v : call.tensors[1].data) EXPECT_EQ(v, 1.0);
}

TEST(OddKernels, slices_keep_vectors_only_where_their_begin_is_aligned) {
  const Kernel logical = logical_kernel(R"(
kernel halves(x: f32[M, 2 * H]) -> (out: f32[M, H]) {
  for m in tile(M) { out[m, :] = x[m, 0:H] + x[m, H:2 * H]; }
}
)");
  const ConfigSpace space(logical, target_of());
  const Kernel staged = staged_kernel(logical, space.default_config());
  walk(staged.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.kind != OpKind::kLoad) return;
    EXPECT_EQ(op.int_attr("vector"), 4) << "4 divides H, so both halves start aligned";
  });
  for (const int64_t h : {4, 128, 300}) {
    SimCall call = call_of({3, h}, {{3, 2 * h}, {3, h}});
    run(staged, &call, "halves " + std::to_string(h));
    for (int64_t m = 0; m < 3; ++m) {
      for (int64_t j = 0; j < h; ++j) {
        const auto& x = call.tensors[0].data;
        ASSERT_EQ(call.tensors[1].data[static_cast<size_t>(m * h + j)],
                  x[static_cast<size_t>(m * 2 * h + j)] + x[static_cast<size_t>(m * 2 * h + h + j)]);
      }
    }
  }
}

}  // namespace
}  // namespace kaon::compiler
