// What a config's rows hold, by hand for some configs, and for every config against the guards of the compiled kernel.
#include "aot_runner/tune/row_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>

#include "compiler/frontend/frontend.h"
#include "compiler/passes/pipeline.h"
#include "compiler/target/target.h"
#include "tests/support/random_config.h"

namespace kaon::runner {
namespace {

constexpr const char* kSoftmax = R"(
kernel softmax(x: T[M, N]) -> (out: T[M, N]) where T in (f16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let e = exp(row - amax(row, dim=1, keepdim=true));
    out[m, :] = T(e / sum(e, dim=1, keepdim=true));
  }
}
)";

// `unused` spans both rows at once, which no value that is stored does.
constexpr const char* kTwoRows = R"(
kernel two_rows(x: f32[M, N], y: f32[M, K]) -> (out: f32[M], other: f32[M]) {
  for m in tile(M) {
    let a = x[m, :];
    let b = y[m, :];
    let unused = a[:, :, None] + b[:, None, :];
    out[m] = sum(a, dim=1);
    other[m] = sum(b, dim=1);
  }
}
)";

compiler::Kernel logical_kernel(const char* text, const compiler::DTypeBinding& binding) {
  const compiler::SourceFile file("test.tile", text);
  compiler::Diagnostics diagnostics(file);
  const auto program = compiler::Program::create(file, &diagnostics);
  EXPECT_TRUE(program) << diagnostics.render();
  Result<compiler::Kernel> kernel = program->instantiate(program->kernels()[0].name, binding);
  EXPECT_TRUE(kernel.is_ok()) << kernel.status().to_string();
  return std::move(kernel).value();
}

struct Fitted {
  explicit Fitted(const char* text, const compiler::DTypeBinding& binding = {})
      : logical(logical_kernel(text, binding)), space(logical, *compiler::find_target("sm_90")), fit(logical, space) {}
  double fill(const std::string& config, const Shape& shape) {
    return fit.fill(Config::from_text(config).value(), shape);
  }

  compiler::Kernel logical;
  compiler::ConfigSpace space;
  RowFit fit;
};

TEST(RowFit, CapacityIsVectorsTimesLanesTimesRepetitions) {
  Fitted softmax(kSoftmax, {{"T", DType::kF16}});
  const struct {
    const char* config;
    int64_t capacity;
  } cases[] = {
      {"block.m=1 num_warps=4 reduce.N=resident(4) vec=8 div.N=8", 4 * 128 * 8},
      {"block.m=1 num_warps=4 reduce.N=resident(4) vec=8 shift.N=1", 4 * 128 * 8 - 7},
      {"block.m=1 num_warps=4 reduce.N=resident(3) vec=1", 3 * 128},
      {"block.m=4 num_warps=4 reduce.N=resident(2) vec=8 div.N=8", 2 * 32 * 8},
      {"block.m=32 num_warps=4 lanes.N=8 reduce.N=resident(2) vec=8 div.N=8", 2 * 8 * 8},
      {"block.m=4 num_warps=4 lanes.N=64 reduce.N=resident(2) vec=8 div.N=8", 2 * 64 * 8},
      {"block.m=1 num_warps=7 reduce.N=resident(4) vec=8 div.N=8", 4 * 224 * 8},
      {"block.m=1 num_warps=7 reduce.N=resident(1) vec=8 shift.N=1", 224 * 8 - 7},
      {"block.m=2 num_warps=7 reduce.N=resident(1) vec=8 div.N=8", 32 * 8},
  };
  for (const auto& [config, capacity] : cases) {
    const double n = 8;
    EXPECT_DOUBLE_EQ(softmax.fill(config, {3, 8}), n / static_cast<double>(capacity)) << config;
  }
}

TEST(RowFit, ChunksHoldRowsOfAnyLength) {
  Fitted softmax(kSoftmax, {{"T", DType::kF16}});
  EXPECT_EQ(softmax.fill("block.m=1 num_warps=4 reduce.N=chunk(1024) vec=8 div.N=8", {3, 1 << 20}), 1);
  EXPECT_EQ(softmax.fill("block.m=1 num_warps=7 reduce.N=chunk(1024) vec=8 shift.N=1", {3, 7}), 1);
}

TEST(RowFit, ADimThatDoesNotDivideIsRefused) {
  Fitted softmax(kSoftmax, {{"T", DType::kF16}});
  EXPECT_EQ(softmax.fill("reduce.N=resident(4) vec=8 div.N=8", {3, 1023}), HUGE_VAL);
  EXPECT_EQ(softmax.fill("reduce.N=resident(4) vec=8", {3, 1023}), HUGE_VAL) << "div.N is 8 unless said otherwise";
  EXPECT_EQ(softmax.fill("reduce.N=chunk(1024) vec=8 div.N=8", {3, 1023}), HUGE_VAL);
  EXPECT_LT(softmax.fill("reduce.N=resident(4) vec=8 shift.N=1", {3, 1023}), 1);
  EXPECT_LT(softmax.fill("num_warps=16 reduce.N=resident(4) vec=1", {3, 1023}), 1);
  EXPECT_NE(softmax.fit.kind({3, 1023}), softmax.fit.kind({3, 1024}));
  EXPECT_EQ(softmax.fit.kind({3, 1024}), softmax.fit.kind({7, 4096}));
}

TEST(RowFit, TheFullestRowCounts) {
  Fitted rows(kTwoRows);
  const std::string config = "block.m=1 num_warps=4 vec=4 reduce.N=resident(1) reduce.K=resident(2) div.N=4 div.K=4";
  EXPECT_DOUBLE_EQ(rows.fill(config, {9, 512, 512}), 1.0);
  EXPECT_DOUBLE_EQ(rows.fill(config, {9, 256, 768}), 0.75);
  EXPECT_DOUBLE_EQ(rows.fill(config, {9, 1024, 512}), 2.0);
}

/// The longest row that the guards of the compiled kernel admit; -1 when they bound none.
int64_t longest_row(const compiler::Kernel& staged, int dim) {
  int64_t most = -1;
  for (const Guard& guard : staged.guards) {
    if (guard.kind == GuardKind::kAtMost && guard.slot == staged.signature.dim_slot(dim) && guard.value < INT32_MAX) {
      most = most < 0 ? guard.value : std::min(most, guard.value);
    }
  }
  return most;
}

TEST(RowFit, FillsBeyondOneAreWhatTheGuardsRefuse) {
  for (const DType dtype : {DType::kF16, DType::kF32}) {
    Fitted softmax(kSoftmax, {{"T", dtype}});
    int bounded = 0;
    std::mt19937 random(1);
    for (int i = 0; i < 160; ++i) {
      const Config config = compiler::random_config(softmax.space, &random);
      const Result<compiler::Kernel> staged =
          compiler::run_pipeline(softmax.logical, config, *compiler::find_target("sm_90"));
      if (!staged.is_ok()) continue;
      const int64_t most = longest_row(*staged, 1);
      if (most < 0) {
        // A body for longer rows is worth its time for rows of some capacities, not of thousands.
        if (config.get("longer.N", "refuse") == "loop") {
          const auto capacity = static_cast<int64_t>(std::llround(8 / softmax.fit.fill(config, {5, 8})));
          EXPECT_EQ(softmax.fit.fill(config, {5, 8 * capacity}), 1) << config.to_text();
          EXPECT_GT(softmax.fit.fill(config, {5, 64 * capacity}), 1) << config.to_text();
          continue;
        }
        EXPECT_EQ(softmax.fit.fill(config, {5, 1 << 20}), 1) << config.to_text();
        continue;
      }
      ++bounded;
      const int64_t step = config.get_int("div.N", 1);
      const int64_t longest = most / step * step;
      EXPECT_LE(softmax.fit.fill(config, {5, longest}), 1) << config.to_text();
      EXPECT_GT(softmax.fit.fill(config, {5, longest + step}), 1) << config.to_text();
    }
    EXPECT_GT(bounded, 20);
  }
}

}  // namespace
}  // namespace kaon::runner
