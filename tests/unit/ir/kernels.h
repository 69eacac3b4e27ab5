// Small kernels in the textual form that the IR's tests start from.
#pragma once

namespace kaon::compiler {

/// softmax over rows, logical stage.
inline constexpr const char* kSoftmaxText = R"ir(kernel softmax {
  stage logical
  dim M
  dim N
  tensor x: f16[M, N] generic T
  tensor out: f16[M, N] generic T, output, alias x
  axis m: tile begin 0, end M
  axis N: full extent N
  tile {axes = [m]} {
    %0:f16[m, N] = load x[m, N]
    %1:f32[m, N] = cast %0  # row
    %2:f32[m, 1] = reduce %1 {fn = "max", dims = [1], keepdim = 1}
    %3:f32[m, N] = broadcast %2
    %4:f32[m, N] = binary %1, %3 {fn = "sub"}
    %5:f32[m, N] = unary %4 {fn = "exp"}  # e
    %6:f32[m, 1] = reduce %5 {fn = "sum", dims = [1], keepdim = 1}
    %7:f32[m, N] = broadcast %6
    %8:f32[m, N] = binary %5, %7 {fn = "div"}
    %9:f16[m, N] = cast %8
    store out[m, N] %9
  }
}
)ir";

/// Everything a header line can say, a grid with a carried loop, an if, scalars and slices.
inline constexpr const char* kGridText = R"ir(kernel "odd name" {
  stage logical
  dim B
  dim N
  tensor x: f32[B + 1, 2 * (N + 3)]
  tensor offsets: i64[max(B, 1)]
  tensor out: f32[B] output, zeroed
  scalar eps: f32 = %0:f32
  scalar n: i32 = %1:i32
  require floor_div(N, 2) - 1, text "N / 2 != \"1\""
  axis b: tile begin 0, end B, fixed_block 1, block 1
  axis k: tile begin %3, end %5, block 16
  axis "N 2": full extent N
  axis lanes: static begin 2, extent 8, block 8
  config {"block.k": 16, "reduce.N": "chunk(16)"}
  num_warps 4
  guard divisible N 8
  guard congruent x out 16
  guard span_at_most x 2147483647
  shared red bytes 256, offset 32
  plan programs ceil_div(B, 4) * 2, threads 128, shared 512, cluster 1, steps [zero out, kernel]
  grid {axes = [b]} {
    %2:i64[b] = load offsets[b]
    %3:i64 = axis_info {axis = b, what = "begin"}
    %4:i64 = expr {expr = expr(N - 2)}
    %5:i64 = binary %3, %4 {fn = "add"}
    %6:f32[b] = const {value = -1e-06}
    %7:f32[b], %8:f32[b] = loop %6, %6 {axis = k} (%9:f32[b], %10:f32[b]) {  # acc, _, acc, other
      %11:f32[b, k] = load x[gather %2, k + %5] {vector = 4, evict = "first"}
      %12:f32[b] = reduce %11 {fn = "sum", dims = [1], keepdim = 0}
      %13:f32[b] = binary %9, %12 {fn = "add"}
      yield %13, %10
    }
    %14:bool = compare %3, %5 {fn = "lt"}
    %15:f32[b] = if %14 {
      yield %7
    } else {
      %16:f32[b] = const {value = inf}
      yield %16
    }
    %17:f32 = load x[%3, %5]
    %18:f32[1] = expand_dims %17 {dim = 0}
    %19:f32[b] = broadcast %18
    %20:f32[b] = binary %15, %19 {fn = "mul"}
    store out[b] %20
  }
}
)ir";

/// A laid-out kernel: rows on warps, columns in registers and lanes.
inline constexpr const char* kLaidOutText = R"ir(kernel scale {
  stage laid_out
  dim M
  dim N
  tensor x: f32[M, N]
  tensor out: f32[M, N] output
  axis m: tile begin 0, end M, block 4
  axis N: full extent N, block 256
  num_warps 4
  grid {axes = [m]} {
    %0:f32[m, N] @ [4w1 | 8r1 32l1] warps 4 = load x[m, N]
    %1:f32[m, 1] @ [4w1 | 1] warps 4 = reduce %0 {fn = "max", dims = [1], keepdim = 1}
    %2:f32[m, N] @ [4w1 | 8r1 32l1] warps 4 = broadcast %1
    %3:f32[m, N] @ [4w1 | 8r1 32l1] warps 4 = binary %0, %2 {fn = "div"}
    store out[m, N] %3
  }
}
)ir";

/// One tile written to shared memory and read back.
inline constexpr const char* kStagedText = R"ir(kernel staged {
  stage staged
  dim M
  tensor x: f32[M]
  tensor out: f32[M] output
  axis m: tile begin 0, end M, block 128
  num_warps 4
  shared red bytes 512, offset 0
  grid {axes = [m]} {
    %0:f32[m] @ [32l1 4w1] warps 4 = load x[m]
    shared_store %0 {buffer = red}
    barrier
    %1:f32[m] @ [32l1 4w1] warps 4 = shared_load {buffer = red}
    store out[m] %1
  }
}
)ir";

}  // namespace kaon::compiler
