// Branches, loops by a condition and loops over single points on the CPU target, with reductions and stores in them.
#include <gtest/gtest.h>

#include "tests/unit/codegen/host_case.h"

namespace kaon::compiler {
namespace {

const char* const kRowConfigs[] = {
    "vec=1 num_warps=1 reduce.N=resident(8)",
    "vec=1 num_warps=4 reduce.N=resident(8)",
    "vec=1 num_warps=2 reduce.N=chunk(64)",
    "vec=1 num_warps=8 reduce.N=chunk(1024)",
};

const char* const kBranches = R"(
kernel branches(x: T[M, N], mode: i32[M]) -> (out: T[M], how: i64[M]) where T in (f16, f32) {
  for m in tile(M, block=1) {
    let row = f32(x[m, :]);
    let kind = mode[m.begin] % 4;
    var result = zeros(f32, m);
    var steps = 0;
    if kind == 0 {
      result = sum(row, dim=1);
      steps = 1;
    } else if kind == 1 {
      result = amax(row, dim=1);
      if m.begin > 2 {
        result += sum(row * row, dim=1);
        steps += 10;
      } else {
        how[m] = 7;
      }
    } else {
      for k in tile(N) {
        result += sum(f32(x[m, k]) * 0.5, dim=1);
        steps += k.block_size / k.block_size;
      }
      steps = 3;
    }
    out[m] = T(result + sum(row, dim=1));
    if kind != 1 or m.begin > 2 { how[m] = steps; }
  }
}
)";

TEST(Control, BranchesWithReductionsLoopsAndStores) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    for (const char* config : kRowConfigs) {
      for (int64_t n : {0, 1, 127, 200}) expect_right({kBranches, dtype, config, {{"M", 9}, {"N", n}}});
    }
  }
}

const char* const kCollatz = R"(
kernel collatz(start: i64[M], x: f32[M, N]) -> (steps: i64[M], norm: f32[M]) {
  for m in tile(M, block=1) {
    var n = abs(start[m.begin]) % 50 + 1;
    var count = 0;
    while n != 1 {
      if n % 2 == 0 { n = n / 2; } else { n = 3 * n + 1; }
      count += 1;
    }
    steps[m] = count;
    var turns = 0;
    var total = sum(x[m, :], dim=1);
    while turns < count % 4 {
      total += sum(x[m, :] * f32(turns), dim=1);
      turns += 1;
      var inner = 0;
      while inner < turns { inner += 2; }
      total += f32(inner);
    }
    norm[m] = total;
  }
}
)";

TEST(Control, WhileInWhileWithReductions) {
  for (const char* config : kRowConfigs) {
    for (int64_t n : {0, 1, 127}) expect_right({kCollatz, DType::kF32, config, {{"M", 7}, {"N", n}}});
  }
}

const char* const kTestReduces = R"(
kernel halvings(x: f32[M, N], limit: i64) -> (out: f32[M], count: i64[M]) {
  for m in tile(M, block=1) {
    var turns = 0;
    while turns < limit and sum(i64(x[m, :] > f32(turns))) > 0 {
      turns += 1;
    }
    count[m] = turns;
    out[m] = f32(turns);
  }
}
)";

// A reduction in the test runs once more than the body, with its shared memory used in each turn.
TEST(Control, ReductionInTheTestOfAWhile) {
  for (const char* config : kRowConfigs) {
    for (int64_t n : {0, 1, 127}) expect_right({kTestReduces, DType::kF32, config, {{"M", 5}, {"N", n}}, {4}});
  }
}

const char* const kTileInBranch = R"(
kernel tiles(x: f32[M, N], flags: i32[K]) -> (out: f32[M, N], last: f32[N]) require K > 0 {
  for n in tile(N) {
    var kept = zeros(f32, n);
    for m in tile(M, block=1) {
      let row = x[m.begin, n];
      if flags[m.begin % K] > 0 {
        kept = maximum(kept, row);
        out[m, n] = kept[None, :];
      } else {
        out[m, n] = row[None, :] - kept[None, :];
      }
    }
    last[n] = kept;
  }
}
)";

TEST(Control, TilesCarriedThroughBranchesAndLoops) {
  for (const char* config : {"vec=1", "vec=1 num_warps=1 block.n=64", "vec=1 num_warps=2 block.n=256"}) {
    for (int64_t n : {1, 127, 300}) {
      expect_right({kTileInBranch, DType::kF32, config, {{"M", 6}, {"N", n}, {"K", 3}}});
    }
  }
}

const char* const kGridOfPoints = R"(
kernel points(x: T[B, S, N], count: i32[B]) -> (out: T[B, S, N], sums: f32[B, S] = 0) where T in (f16, f32) {
  for b, s in grid(B, S) {
    let most = minimum(i64(count[b]) % 4, N);
    var total = 0.0;
    for i in grid(most) {
      total += f32(x[b, s, i]);
      for j in grid(i, most) {
        if j % 2 == 0 { total -= 0.5 * f32(x[b, s, j]); }
      }
    }
    sums[b, s] = total;
    for part in static_range(3, 0, -1) {
      out[b, s, :] = x[b, s, :] * T(part);
    }
  }
}
)";

TEST(Control, GridsOfPointsWithBoundsFromMemory) {
  for (DType dtype : {DType::kF16, DType::kF32}) {
    for (int64_t n : {1, 127}) {
      expect_right({kGridOfPoints, dtype, "vec=1 num_warps=1", {{"B", 5}, {"S", 3}, {"N", n}}});
      expect_right({kGridOfPoints, dtype, "vec=1 num_warps=2 reduce.N=chunk(64)", {{"B", 5}, {"S", 3}, {"N", n}}});
    }
  }
}

const char* const kRaggedMasks = R"(
kernel ragged_sums(x: f32[M, N], lengths: i64[M]) -> (out: f32[M]) require M > 0 {
  for m in tile(M) {
    let length = clamp(lengths[m], 0, N);
    var acc = zeros(f32, m);
    for n in tile(amax(length)) {
      let inside = n.index[None, :] < length[:, None];
      acc += sum(where(inside, x[m, n], 0), dim=1);
    }
    out[m] = acc;
  }
}
)";

TEST(Control, TilesUpToTheGreatestLengthWithAMask) {
  for (int64_t n : {1, 127, 300}) {
    expect_right({kRaggedMasks, DType::kF32, "vec=1 num_warps=1 block.m=4 block.n=32", {{"M", 9}, {"N", n}}});
    expect_right({kRaggedMasks, DType::kF32, "vec=1 num_warps=4 block.m=2 block.n=128", {{"M", 9}, {"N", n}}});
  }
}

}  // namespace
}  // namespace kaon::compiler
