// Random kernels: every config that accepts a call gives what the generic config gives.
#include <cmath>
#include <random>

#include "compiler/ir/printer.h"
#include "tests/support/depth.h"
#include "tests/support/pass_harness.h"
#include "tests/support/random_config.h"
#include "tests/support/random_kernel.h"

namespace kaon::compiler {
namespace {

constexpr int kSeeds = depth(24, 6);
constexpr int kConfigsPerKernel = 6;

/// Dense tensors of the kernel's own shapes, filled with small numbers.
SimCall call_for(const Kernel& kernel, std::vector<int64_t> dims) {
  SimCall call;
  call.dims = std::move(dims);
  std::vector<int64_t> slots(static_cast<size_t>(kernel.signature.num_slots()), 0);
  for (size_t d = 0; d < call.dims.size(); ++d)
    slots[static_cast<size_t>(kernel.signature.dim_slot(static_cast<int>(d)))] = call.dims[d];
  for (const TensorParam& param : kernel.signature.tensors) {
    std::vector<int64_t> sizes;
    for (const Expr& extent : param.extents) sizes.push_back(extent.evaluate(slots.data()));
    call.tensors.push_back(dense_tensor(sizes, static_cast<int64_t>(call.tensors.size() + 1) * kFarApart));
    if (!param.is_output) fill(&call.tensors.back(), static_cast<int64_t>(call.tensors.size()));
    for (double& v : call.tensors.back().data) v /= 4;
  }
  return call;
}

void expect_same(const Kernel& kernel, const SimCall& expected, const SimCall& got, const std::string& what) {
  for (size_t t = 0; t < kernel.signature.tensors.size(); ++t) {
    if (!kernel.signature.tensors[t].is_output) continue;
    for (size_t i = 0; i < expected.tensors[t].data.size(); ++i) {
      const double a = expected.tensors[t].data[i];
      const double b = got.tensors[t].data[i];
      if (std::isnan(a) && std::isnan(b)) continue;
      if (a == b) continue;
      ASSERT_NEAR(a, b, 1e-7 * (1 + std::abs(a)))
          << what << ": " << kernel.signature.tensors[t].name << "[" << i << "]";
    }
  }
}

TEST(RandomKernels, every_config_agrees_with_the_generic_one) {
  int runs = 0;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Kernel logical = random_kernel({.seed = seed, .num_ops = 12, .num_inputs = 2, .with_steps = false});
    const ConfigSpace space(logical, target_of());
    const Kernel generic = staged_kernel(logical, space.generic_config());
    std::mt19937 random(static_cast<uint32_t>(seed));
    for (int k = 0; k < kConfigsPerKernel; ++k) {
      const Config config = random_config(space, &random);
      const Result<Kernel> staged = run_pipeline(logical, config, target_of());
      ASSERT_TRUE(staged) << "seed " << seed << ", " << config.to_text() << ": " << staged.status().to_string();
      for (const int64_t n : {int64_t{1}, int64_t{37}, int64_t{264}}) {
        SimCall call = call_for(logical, {3, n});
        if (!accepts(*staged, call)) continue;
        SimCall reference = call;
        const std::string what =
            "seed " + std::to_string(seed) + ", " + config.to_text() + ", N = " + std::to_string(n);
        const Result<SimCounts> generic_counts = simulate(generic, &reference);
        ASSERT_TRUE(generic_counts) << what << ": " << generic_counts.status().to_string();
        const Result<SimCounts> counts = simulate(*staged, &call);
        ASSERT_TRUE(counts) << what << ": " << counts.status().to_string() << "\n" << print(*staged);
        expect_same(logical, reference, call, what);
        if (testing::Test::HasFatalFailure()) return;
        ++runs;
      }
    }
  }
  EXPECT_GT(runs, kSeeds);
}

}  // namespace
}  // namespace kaon::compiler
