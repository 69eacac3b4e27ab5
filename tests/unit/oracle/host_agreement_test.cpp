// Random kernels, compiled for the CPU target in several configs, agree with the oracle.
#include "compiler/config/config_space.h"
#include "compiler/ir/printer.h"
#include "tests/support/random_kernel.h"
#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

/// An empty config stands for the generic one, which accepts every call.
void expect_agreement(uint64_t first_seed, uint64_t last_seed, const std::string& config, int64_t m, int64_t n) {
  for (uint64_t seed = first_seed; seed <= last_seed && !testing::Test::HasFailure(); ++seed) {
    RandomKernelOptions options;
    options.seed = seed;
    const Kernel kernel = random_kernel(options);
    HostCase c;
    c.config = config.empty() ? ConfigSpace(kernel, *find_target("host")).generic_config().to_text() : config;
    c.dims = {{"M", m}, {"N", n}};
    c.scale = 1;
    SCOPED_TRACE(print(kernel));
    expect_right(kernel, c, seed);
  }
}

TEST(HostAgreement, resident_rows_of_whole_vectors) {
  expect_agreement(1, 12, "num_warps=2 reduce.N=resident(2)", 3, 256);
}

TEST(HostAgreement, several_rows_in_a_block) {
  expect_agreement(13, 22, "block.m=4 num_warps=4 reduce.N=resident(1)", 7, 96);
}

TEST(HostAgreement, rows_looped_over_in_chunks) {
  expect_agreement(23, 30, "num_warps=2 reduce.N=chunk(1024)", 2, 2104);
}

TEST(HostAgreement, rows_cut_anywhere_in_the_generic_config) {
  expect_agreement(31, 40, "", 3, 127);
  expect_agreement(41, 44, "", 1, 1);
}

}  // namespace
}  // namespace kaon::compiler
