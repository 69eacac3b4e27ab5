// Row kernels through the whole pipeline, simulated and compared with plain loops: resident and rolled, aligned and
// not.
#include <cmath>
#include <limits>
#include <vector>

#include "compiler/ir/printer.h"
#include "tests/support/pass_harness.h"
#include "tests/unit/passes/kernels.h"

namespace kaon::compiler {
namespace {

constexpr double kTolerance = 1e-9;

/// x and out as f16[m, n], x's rows `padding` elements apart, both `skew` elements off a 256-byte boundary.
SimCall row_call(int64_t m, int64_t n, int64_t padding = 0, int64_t skew = 0) {
  SimCall call;
  call.dims = {m, n};
  call.tensors = {dense_tensor({m, n}, kFarApart + 2 * skew, padding),
                  dense_tensor({m, n}, 2 * kFarApart + 2 * skew, padding)};
  fill(&call.tensors[0]);
  return call;
}

/// softmax of one row of `x`, by plain loops.
std::vector<double> softmax_of_row(const SimTensor& x, int64_t m) {
  const double* row = &x.data[static_cast<size_t>(m * x.strides[0])];
  const auto n = static_cast<size_t>(x.sizes[1]);
  double top = -std::numeric_limits<double>::infinity();
  double total = 0;
  for (size_t i = 0; i < n; ++i) top = std::max(top, row[i]);
  for (size_t i = 0; i < n; ++i) total += std::exp(row[i] - top);
  std::vector<double> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = std::exp(row[i] - top) / total;
  return out;
}

void expect_softmax(const SimCall& call, const std::string& what) {
  const SimTensor& out = call.tensors[1];
  for (int64_t m = 0; m < out.sizes[0] && out.sizes[1] > 0; ++m) {
    const std::vector<double> expected = softmax_of_row(call.tensors[0], m);
    for (int64_t n = 0; n < out.sizes[1]; ++n) {
      const double got = out.data[static_cast<size_t>(m * out.strides[0] + n)];
      ASSERT_NEAR(got, expected[static_cast<size_t>(n)], kTolerance) << what << " at " << m << ", " << n;
    }
  }
}

struct RowCase {
  const char* config;
  bool must_accept_odd;  // rows of any length up to the capacity, dense
};

const RowCase kSoftmaxConfigs[] = {
    {"num_warps=2 reduce.N=resident(2)", false},
    {"num_warps=4 reduce.N=resident(9)", false},
    {"num_warps=7 reduce.N=resident(5)", false},
    {"num_warps=4 block.m=4 reduce.N=resident(4) lanes.N=32", false},
    {"num_warps=2 block.m=8 reduce.N=resident(16)", false},
    {"num_warps=1 block.m=4 lanes.N=16 reduce.N=resident(8)", false},
    {"num_warps=4 reduce.N=resident(9) div.N=1", false},
    {"num_warps=4 reduce.N=resident(9) shift.N=1", true},
    {"num_warps=4 block.m=2 reduce.N=resident(8) shift.N=1", true},
    {"num_warps=2 reduce.N=resident(8) keep.N=input", false},
    {"num_warps=1 block.m=4 lanes.N=16 reduce.N=resident(8) keep.N=input", false},
    {"num_warps=2 block.m=16 lanes.N=8 reduce.N=resident(9) shift.N=1", false},
    {"num_warps=4 reduce.N=resident(9) keep.N=input shift.N=1", true},
    {"num_warps=4 reduce.N=chunk(1024)", false},
    {"num_warps=4 reduce.N=chunk(2048) shift.N=1", true},
    {"num_warps=2 block.m=2 reduce.N=chunk(256) div.N=1", false},
    {"num_warps=2 vec=1 block.m=4 reduce.N=chunk(64)", true},
    {"num_warps=4 vec=1 reduce.N=resident(8) index=32", true},
};

TEST(RowKernels, softmax_matches_plain_loops_for_every_shape_that_its_guards_accept) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  for (const RowCase& row : kSoftmaxConfigs) {
    const Kernel staged = staged_kernel(logical, config_of(row.config));
    int accepted = 0;
    for (const int64_t n : {0, 1, 8, 127, 128, 1000, 1024}) {
      SimCall call = row_call(5, n);
      const bool ok = accepts(staged, call);
      EXPECT_TRUE(ok || !row.must_accept_odd) << row.config << ", N = " << n;
      if (!ok) continue;
      ++accepted;
      const Result<SimCounts> counts = simulate(staged, &call);
      ASSERT_TRUE(counts) << row.config << ", N = " << n << ": " << counts.status().to_string();
      expect_softmax(call, std::string(row.config) + ", N = " + std::to_string(n));
    }
    EXPECT_GE(accepted, 3) << row.config;
  }
}

TEST(RowKernels, rolled_softmax_is_right_beyond_several_chunks) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  for (const char* text : {"num_warps=4 reduce.N=chunk(1024) shift.N=1", "num_warps=2 vec=1 reduce.N=chunk(512)"}) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    SimCall call = row_call(2, 8193);
    ASSERT_TRUE(accepts(staged, call)) << text;
    const Result<SimCounts> counts = simulate(staged, &call);
    ASSERT_TRUE(counts) << counts.status().to_string();
    expect_softmax(call, text);
  }
}

TEST(RowKernels, online_softmax_reads_its_row_twice_and_resident_once) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  SimCall rolled_call = row_call(1, 4096);
  const Result<SimCounts> rolled =
      simulate(staged_kernel(logical, config_of("num_warps=4 reduce.N=chunk(1024)")), &rolled_call);
  ASSERT_TRUE(rolled) << rolled.status().to_string();
  EXPECT_EQ(rolled->load_instructions, 2 * 4096 / 8);
  EXPECT_EQ(rolled->store_instructions, 4096 / 8);
  SimCall resident_call = row_call(1, 4096);
  const Result<SimCounts> resident =
      simulate(staged_kernel(logical, config_of("num_warps=4 reduce.N=resident(4)")), &resident_call);
  ASSERT_TRUE(resident) << resident.status().to_string();
  EXPECT_EQ(resident->load_instructions, 4096 / 8);
  EXPECT_EQ(resident->store_instructions, 4096 / 8);
  EXPECT_EQ(resident->barriers, 2);  // one for each reduction
}

TEST(RowKernels, rows_of_minus_infinity_behave_as_written) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const double low = -std::numeric_limits<double>::infinity();
  for (const char* text : {"num_warps=2 reduce.N=chunk(512)", "num_warps=2 reduce.N=resident(2)"}) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    SimCall call = row_call(3, 1024);
    // Row 0: one finite element, the rest -inf. Row 1: all -inf. Row 2: +inf somewhere.
    for (int64_t i = 0; i < 1024; ++i) call.tensors[0].data[static_cast<size_t>(i)] = i == 700 ? -5.0 : low;
    for (int64_t i = 0; i < 1024; ++i) call.tensors[0].data[static_cast<size_t>(1024 + i)] = low;
    call.tensors[0].data[2048 + 3] = -low;
    const Result<SimCounts> counts = simulate(staged, &call);
    ASSERT_TRUE(counts) << counts.status().to_string();
    const std::vector<double>& out = call.tensors[1].data;
    for (int64_t i = 0; i < 1024; ++i) {
      EXPECT_EQ(out[static_cast<size_t>(i)], i == 700 ? 1.0 : 0.0) << text;
      EXPECT_TRUE(std::isnan(out[static_cast<size_t>(1024 + i)])) << text;
      EXPECT_TRUE(std::isnan(out[static_cast<size_t>(2048 + i)])) << text;
    }
  }
}

TEST(RowKernels, shifted_windows_serve_every_phase_and_pitch) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  for (const char* text :
       {"num_warps=2 reduce.N=resident(3) shift.N=1", "num_warps=2 block.m=2 reduce.N=chunk(256) shift.N=1"}) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    for (int64_t skew = 0; skew < 8; ++skew) {
      for (const int64_t padding : {0, 3, 8}) {
        SimCall call = row_call(4, 1003, padding, skew);
        ASSERT_TRUE(accepts(staged, call)) << text;
        const Result<SimCounts> counts = simulate(staged, &call);
        ASSERT_TRUE(counts) << text << ": " << counts.status().to_string();
        expect_softmax(call, text);
      }
    }
    SimCall other_phase = row_call(4, 1003);
    other_phase.tensors[1].address += 2;
    EXPECT_FALSE(accepts(staged, other_phase)) << "tensors of different phase cannot share a window";
  }
}

TEST(RowKernels, sums_and_log_sum_exp_fold_rows_to_scalars) {
  for (const char* text : {"num_warps=2 reduce.N=resident(4)", "num_warps=4 block.m=2 reduce.N=chunk(512)",
                           "num_warps=2 vec=1 reduce.N=chunk(128)"}) {
    for (const int64_t n : {0, 8, 504, 1000}) {
      const Kernel sum = staged_kernel(logical_kernel(kRowSum, DType::kF32), config_of(text));
      SimCall call;
      call.dims = {3, n};
      call.tensors = {dense_tensor({3, n}, kFarApart), dense_tensor({3}, 2 * kFarApart)};
      fill(&call.tensors[0]);
      ASSERT_TRUE(accepts(sum, call)) << text << ", N = " << n;
      const Result<SimCounts> counts = simulate(sum, &call);
      ASSERT_TRUE(counts) << counts.status().to_string();
      SimCall exp_call = call;
      const Kernel log_sum = staged_kernel(logical_kernel(kLogSumExp, DType::kF32), config_of(text));
      const Result<SimCounts> exp_counts = simulate(log_sum, &exp_call);
      ASSERT_TRUE(exp_counts) << exp_counts.status().to_string();
      for (int64_t m = 0; m < 3; ++m) {
        double total = 0, exponentials = 0;
        for (int64_t i = 0; i < n; ++i) {
          total += call.tensors[0].data[static_cast<size_t>(m * n + i)];
          exponentials += std::exp(call.tensors[0].data[static_cast<size_t>(m * n + i)]);
        }
        EXPECT_NEAR(call.tensors[1].data[static_cast<size_t>(m)], total, 1e-6) << text;
        const double got = exp_call.tensors[1].data[static_cast<size_t>(m)];
        const double low = -std::numeric_limits<double>::infinity();
        if (n == 0) {
          EXPECT_EQ(got, low) << text;
        } else {
          EXPECT_NEAR(got, std::log(exponentials), 1e-9) << text;
        }
      }
    }
  }
}

TEST(RowKernels, dependent_reductions_take_one_loop_each) {
  const Kernel logical = logical_kernel(kNormalise, DType::kF32);
  for (const char* text : {"num_warps=2 reduce.N=resident(4)", "num_warps=2 block.m=2 reduce.N=chunk(256)",
                           "num_warps=2 reduce.N=chunk(256) div.N=1"}) {
    const Kernel staged = staged_kernel(logical, config_of(text));
    const int64_t n = 1000;
    SimCall call;
    call.dims = {3, n};
    call.tensors = {dense_tensor({3, n}, kFarApart), dense_tensor({n}, 2 * kFarApart),
                    dense_tensor({3, n}, 3 * kFarApart), dense_tensor({3}, 4 * kFarApart)};
    fill(&call.tensors[0]);
    fill(&call.tensors[1], 5);
    ASSERT_TRUE(accepts(staged, call)) << text;
    const Result<SimCounts> counts = simulate(staged, &call);
    ASSERT_TRUE(counts) << text << ": " << counts.status().to_string();
    for (int64_t m = 0; m < 3; ++m) {
      const double* row = &call.tensors[0].data[static_cast<size_t>(m * n)];
      double middle = 0, square = 0;
      for (int64_t i = 0; i < n; ++i) middle += row[i] / static_cast<double>(n);
      for (int64_t i = 0; i < n; ++i) square += (row[i] - middle) * (row[i] - middle) / static_cast<double>(n);
      EXPECT_NEAR(call.tensors[3].data[static_cast<size_t>(m)], middle, kTolerance);
      for (int64_t i = 0; i < n; ++i) {
        const double expected =
            (row[i] - middle) / std::sqrt(square + 0.001) * call.tensors[1].data[static_cast<size_t>(i)];
        ASSERT_NEAR(call.tensors[2].data[static_cast<size_t>(m * n + i)], expected, 1e-6)
            << text << " at " << m << ", " << i;
      }
    }
  }
}

TEST(RowKernels, generic_configs_accept_any_strides_alignment_and_extent) {
  const Kernel logical = logical_kernel(kSoftmax, DType::kF16);
  const ConfigSpace space(logical, target_of());
  const Kernel staged = staged_kernel(logical, space.generic_config());
  EXPECT_TRUE(staged.guards.empty());
  for (const int64_t n : {1, 127, 1300}) {
    SimCall call = row_call(3, n, 5, 1);
    // Columns first, and every second element: neither unit stride nor order.
    for (SimTensor& tensor : call.tensors) {
      tensor.strides = {2, 6};
      tensor.data.assign(static_cast<size_t>(2 * 3 + 6 * n), 0);
    }
    fill(&call.tensors[0]);
    const Result<SimCounts> counts = simulate(staged, &call);
    ASSERT_TRUE(counts) << counts.status().to_string();
    for (int64_t m = 0; m < 3; ++m) {
      double total = 0;
      for (int64_t i = 0; i < n; ++i) total += std::exp(call.tensors[0].data[static_cast<size_t>(2 * m + 6 * i)]);
      for (int64_t i = 0; i < n; ++i) {
        const double expected = std::exp(call.tensors[0].data[static_cast<size_t>(2 * m + 6 * i)]) / total;
        ASSERT_NEAR(call.tensors[1].data[static_cast<size_t>(2 * m + 6 * i)], expected, kTolerance);
      }
    }
  }
}

}  // namespace
}  // namespace kaon::compiler
