// Random kernels on a simulated device that errs as much as it may: the bounds hold, and are tight enough to refuse
// a planted error.
#include <gtest/gtest.h>

#include <cmath>

#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"
#include "tests/support/random_kernel.h"
#include "tests/unit/oracle/call.h"
#include "tests/unit/oracle/simulate.h"

namespace kaon::compiler {
namespace {

struct RandomCall {
  Kernel kernel;
  std::vector<OwnedTensor> tensors;
  std::vector<HostTensor> host;

  RandomCall(const RandomKernelOptions& options, int64_t m, int64_t n) : kernel(random_kernel(options)) {
    for (size_t i = 0; i < kernel.signature.tensors.size(); ++i) {
      const TensorParam& param = kernel.signature.tensors[i];
      std::vector<int64_t> sizes = {m, n};
      if (param.name == "bias") sizes = {n};
      if (param.name == "row") sizes = {m};
      tensors.emplace_back(param.dtype, sizes);
      if (!param.is_output) tensors.back().fill(options.seed * 31 + i);
    }
    for (const OwnedTensor& tensor : tensors) host.push_back(tensor.view());
  }
};

TEST(OracleBounds, hold_for_random_kernels_on_a_device_that_errs_as_much_as_it_may) {
  int64_t compared = 0, unconstrained = 0;
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    RandomKernelOptions options;
    options.seed = seed;
    options.with_steps = seed % 2 == 0;
    RandomCall call(options, 3, seed % 7 == 0 ? 1 : 127);
    ASSERT_EQ(verify(call.kernel).to_string(), "ok") << print(call.kernel);
    const OracleResult expected = run_oracle(call.kernel, call.host);
    for (uint64_t run = 0; run < 3; ++run) {
      simulate(call.kernel, call.host, seed * 10 + run);
      const Judgement judgement = judge(call.kernel, expected, call.host);
      ASSERT_TRUE(judgement.passed()) << "seed " << seed << ": " << judgement.to_string() << "\n" << print(call.kernel);
      compared += judgement.compared;
      unconstrained += judgement.unconstrained;
    }
  }
  EXPECT_GT(compared, 200000);
  EXPECT_LT(unconstrained, compared / 100);
}

TEST(OracleBounds, refuse_an_element_off_by_three_bounds) {
  int planted = 0;
  for (uint64_t seed = 1; seed <= 100; ++seed) {
    RandomKernelOptions options;
    options.seed = seed;
    options.with_steps = false;
    RandomCall call(options, 2, 65);
    const OracleResult expected = run_oracle(call.kernel, call.host);
    simulate(call.kernel, call.host, seed);
    const size_t out = call.tensors.size() - 2;
    const OracleElement& element = expected.outputs[out][77];
    const FloatFormat& format = float_format(call.host[out].dtype);
    const double allowed = element.bound + std::fabs(element.value) * format.unit_roundoff + format.min_subnormal;
    ASSERT_LT(element.bound, 10) << "seed " << seed << ": a bound that refuses nothing\n" << print(call.kernel);
    call.tensors[out].set(77, element.value + 3 * allowed);
    planted += judge(call.kernel, expected, call.host).wrong == 1;
  }
  EXPECT_EQ(planted, 100);
}

TEST(OracleBounds, random_kernels_are_the_same_for_the_same_seed_only) {
  RandomKernelOptions options;
  const std::string first = print(random_kernel(options));
  EXPECT_EQ(print(random_kernel(options)), first);
  options.seed = 2;
  EXPECT_NE(print(random_kernel(options)), first);
}

}  // namespace
}  // namespace kaon::compiler
