// Whole kernels on the CPU target, over element types, configs and extents that divide into nothing.
#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

constexpr const char* kVectorAdd = R"(
kernel vector_add(x: T[N], y: T[N]) -> (out: T[N]) where T in (f16, bf16, f32, f64, i8, u8, i16, i32, u32, i64) {
  for n in tile(N) { out[n] = x[n] + y[n]; }
})";

constexpr const char* kHostSoftmax = R"(
kernel softmax(x: T[M, N]) -> (out: T[M, N]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let e = exp(row - amax(row, dim=1, keepdim=true));
    out[m, :] = T(e / sum(e, dim=1, keepdim=true));
  }
})";

const DType kRowTypes[] = {DType::kF16, DType::kBF16, DType::kF32};

TEST(HostKernels, VectorAddOfEveryNumberType) {
  for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64, DType::kI8, DType::kU8, DType::kI16,
                      DType::kI32, DType::kU32, DType::kI64}) {
    expect_right({kVectorAdd, dtype, "div.N=1", {{"N", 3001}}});
  }
}

TEST(HostKernels, VectorAddCutsItsLastVectorAnywhere) {
  for (int64_t n : {1, 7, 8, 9, 255, 256, 257, 263, 264})
    expect_right({kVectorAdd, DType::kF16, "num_warps=1 block.n=256 div.N=1", {{"N", n}}});
}

TEST(HostKernels, VectorAddWithNarrowOffsetsAndStreaming) {
  expect_right({kVectorAdd, DType::kF32, "index=32 evict.x=stream evict.out=stream div.N=1", {{"N", 5000}}});
}

TEST(HostKernels, ResidentSoftmaxOverRowsThatFitItsVectors) {
  for (DType dtype : kRowTypes) {
    for (int64_t n : {8, 64, 1000, 1024}) {
      expect_right({kHostSoftmax, dtype, "num_warps=2 reduce.N=resident(4)", {{"M", 3}, {"N", n}}});
    }
  }
}

TEST(HostKernels, ResidentSoftmaxWithSeveralRowsInABlock) {
  expect_right({kHostSoftmax, DType::kF16, "block.m=4 num_warps=4 reduce.N=resident(1)", {{"M", 7}, {"N", 200}}});
  expect_right({kHostSoftmax, DType::kF32, "block.m=8 num_warps=2 reduce.N=resident(2)", {{"M", 13}, {"N", 64}}});
}

TEST(HostKernels, ResidentSoftmaxOverShiftedRows) {
  for (DType dtype : kRowTypes) {
    for (int64_t n : {1, 5, 7, 127, 700}) {
      expect_right({kHostSoftmax, dtype, "num_warps=2 reduce.N=resident(3) shift.N=1", {{"M", 4}, {"N", n}}});
    }
  }
}

TEST(HostKernels, RowsThatStayPackedGiveTheSame) {
  for (DType dtype : {DType::kF16, DType::kBF16}) {
    for (int64_t n : {8, 1000, 1024})
      expect_right({kHostSoftmax, dtype, "num_warps=2 reduce.N=resident(4) keep.N=input", {{"M", 3}, {"N", n}}});
    for (int64_t n : {1, 127, 1000})
      expect_right(
          {kHostSoftmax, dtype, "num_warps=2 reduce.N=resident(4) keep.N=input shift.N=1", {{"M", 3}, {"N", n}}});
    expect_right({kHostSoftmax,
                  dtype,
                  "num_warps=1 block.m=4 lanes.N=8 reduce.N=resident(2) keep.N=input",
                  {{"M", 9}, {"N", 64}}});
  }
}

TEST(HostKernels, NormalisedRowsThatStayPacked) {
  const std::string source = R"(
kernel normalise(x: T[M, N], weight: T[N]) -> (out: T[M, N]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let off = row - mean(row, dim=1, keepdim=true);
    let scale = rsqrt(mean(off * off, dim=1, keepdim=true) + 0.001);
    out[m, :] = T(off * scale * f32(weight[:])[None, :]);
  }
})";
  const std::string squares = R"(
kernel rms(x: T[M, N]) -> (out: T[M, N]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    out[m, :] = T(row * rsqrt(mean(row * row, dim=1, keepdim=true) + 0.001));
  }
})";
  for (const std::string& text : {source, squares}) {
    for (const char* keep : {"keep.N=values", "keep.N=input"}) {
      for (DType dtype : {DType::kF16, DType::kBF16}) {
        const std::string config = std::string("num_warps=2 reduce.N=resident(3) ") + keep;
        for (int64_t n : {8, 1000}) expect_right({text, dtype, config, {{"M", 3}, {"N", n}}});
        for (int64_t n : {1, 127, 1001}) expect_right({text, dtype, config + " shift.N=1", {{"M", 3}, {"N", n}}});
      }
    }
    for (int64_t n : {1, 127, 700})
      expect_right({text, DType::kF32, "num_warps=2 reduce.N=resident(4) shift.N=1", {{"M", 3}, {"N", n}}});
  }
}

TEST(HostKernels, ResidentSoftmaxOverShiftedRowsOffAlignment) {
  for (int64_t misalignment : {1, 3, 7}) {
    HostCase c{kHostSoftmax, DType::kF16, "num_warps=2 reduce.N=resident(3) shift.N=1", {{"M", 3}, {"N", 301}}};
    c.misalignment = misalignment;
    expect_right(c);
  }
}

TEST(HostKernels, ChunkedSoftmax) {
  for (DType dtype : kRowTypes) {
    expect_right({kHostSoftmax, dtype, "num_warps=2 reduce.N=chunk(1024)", {{"M", 2}, {"N", 3000}}});
    expect_right({kHostSoftmax, dtype, "num_warps=2 reduce.N=chunk(1024) shift.N=1", {{"M", 3}, {"N", 2047}}});
  }
}

TEST(HostKernels, PaddedRowsKeepTheirPadding) {
  HostCase c{kHostSoftmax, DType::kF16, "num_warps=1 reduce.N=resident(2)", {{"M", 4}, {"N", 104}}};
  c.row_padding = 16;
  expect_right(c);
}

// Lanes beyond N hold what the maximum wants, and then exactly what the sum wants: infinities and NaN must not leak.
TEST(HostKernels, InfinitiesAndNanStayInTheirRow) {
  const std::string source = R"(
kernel log_sum_exp(x: f32[M, N]) -> (out: f32[M]) {
  for m in tile(M) {
    let row = x[m, :];
    let scaled = where(row > 3.0, row * 3.0e38, row);
    let lowered = where(scaled < -1.0, scaled * 3.0e38 * 3.0e38, scaled);
    let top = amax(lowered, dim=1, keepdim=true);
    out[m] = log(sum(exp(lowered - top), dim=1)) + amax(lowered, dim=1);
  }
})";
  for (int64_t n : {4, 60, 100})
    expect_right({source, DType::kF32, "num_warps=1 reduce.N=resident(1)", {{"M", 40}, {"N", n}}});
  const std::string direct = R"(
kernel log_sum_exp(x: f16[M, N]) -> (out: f32[M]) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let top = amax(row, dim=1, keepdim=true);
    out[m] = log(sum(exp(row - top), dim=1)) + amax(row, dim=1);
  }
})";
  for (double scale : {1.0, 60000.0}) {  // the second overflows f16 to infinities of both signs
    HostCase c{direct, DType::kF16, "num_warps=2 block.m=2 reduce.N=resident(1) shift.N=1", {{"M", 41}, {"N", 5}}};
    c.scale = scale;
    expect_right(c);
  }
}

}  // namespace
}  // namespace kaon::compiler
