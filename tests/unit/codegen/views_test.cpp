// Views on `host` against the oracle: regrouped, cut and joined values, whether their lanes stay in place or move.
#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

/// Runs `source` under each config, for each extent of M.
void expect_right_under(const std::string& source, DType dtype, const std::vector<std::string>& configs,
                        std::map<std::string, int64_t> dims = {}, const std::vector<int64_t>& rows = {1, 5}) {
  for (const std::string& config : configs) {
    for (const int64_t m : rows) {
      dims["M"] = m;
      HostCase c{source, dtype, config, dims};
      Result<Kernel> kernel = logical_kernel(c);
      ASSERT_TRUE(kernel) << kernel.status().message();
      expect_right(*kernel, c);
    }
  }
}

const std::vector<std::string> kConfigs = {"num_warps=1 block.m=2", "num_warps=2 block.m=4 vec=1",
                                           "num_warps=4 block.m=8", "num_warps=1 block.m=1 vec=2"};

constexpr const char* kHalfRope = R"(
kernel rope(x: T[M, 128], c: f32[M, 64], s: f32[M, 64]) -> (out: T[M, 128]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let a, b = f32(x[m, :]).chunk(2, dim=1);
    let cc = c[m, :];
    let ss = s[m, :];
    out[m, :] = T(concat((a * cc - b * ss, b * cc + a * ss), dim=1));
  }
}
)";

constexpr const char* kInterleavedRope = R"(
kernel rope(x: T[M, 128], c: f32[M, 64], s: f32[M, 64]) -> (out: T[M, 128]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let a, b = f32(x[m, :]).reshape(m, 64, 2).unbind(-1);
    let cc = c[m, :];
    let ss = s[m, :];
    out[m, :] = T(stack((a * cc - b * ss, b * cc + a * ss), dim=-1).reshape(m, 128));
  }
}
)";

constexpr const char* kSixChunks = R"(
kernel six(x: T[M, 576]) -> (out: T[M, 96], r: f32[M]) where T in (f16, f32) {
  for m in tile(M) {
    let a, b, c, d, e, f = f32(x[m, :]).chunk(6, dim=1);
    out[m, :] = T(a + b * c - d * e + f);
    r[m] = sum(c, dim=1) + amax(f, dim=1);
  }
}
)";

TEST(Views, rope_of_halves) {
  for (DType dtype : {DType::kF16, DType::kF32}) expect_right_under(kHalfRope, dtype, kConfigs);
}

TEST(Views, rope_of_neighbours) {
  for (DType dtype : {DType::kBF16, DType::kF32}) expect_right_under(kInterleavedRope, dtype, kConfigs);
}

TEST(Views, six_chunks_of_96) {
  for (DType dtype : {DType::kF16, DType::kF32}) expect_right_under(kSixChunks, dtype, kConfigs);
}

}  // namespace
}  // namespace kaon::compiler
