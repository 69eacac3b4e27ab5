// Kernels in the tile language that the tests of configs and passes share.
#pragma once

namespace kaon::compiler {

inline constexpr const char* kSoftmax = R"(
kernel softmax(x: T[M, N]) -> (out: T[M, N]) where T in (f16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let e = exp(row - amax(row, dim=1, keepdim=true));
    out[m, :] = T(e / sum(e, dim=1, keepdim=true));
  }
}
)";

inline constexpr const char* kVectorAdd = R"(
kernel vector_add(x: T[N], y: T[N]) -> (out: T[N]) where T in (f32, f16) {
  for i in tile(N) {
    out[i] = x[i] + y[i];
  }
}
)";

inline constexpr const char* kRowSum = R"(
kernel row_sum(x: T[M, N]) -> (out: T[M]) where T in (f32, f16) {
  for m in tile(M) {
    out[m] = T(sum(f32(x[m, :]), dim=1));
  }
}
)";

inline constexpr const char* kLogSumExp = R"(
kernel log_sum_exp(x: T[M, N]) -> (out: f32[M]) where T in (f32, f16) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let top = amax(row, dim=1);
    out[m] = log(sum(exp(row - top[:, None]), dim=1)) + top;
  }
}
)";

inline constexpr const char* kNormalise = R"(
kernel normalise(x: T[M, N], weight: T[N]) -> (out: T[M, N], center: f32[M]) where T in (f32, f16) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let middle = mean(row, dim=1, keepdim=true);
    let off = row - middle;
    let scale = rsqrt(mean(off * off, dim=1, keepdim=true) + 0.001);
    out[m, :] = T(off * scale * f32(weight[:])[None, :]);
    center[m] = mean(row, dim=1);
  }
}
)";

inline constexpr const char* kScaleBias = R"(
kernel scale_bias(x: T[M, N], bias: T[N], factor: f32) -> (out: T[M, N]) where T in (f32, f16) {
  for m, n in tile(M, N) {
    out[m, n] = T(f32(x[m, n]) * factor + f32(bias[n])[None, :]);
  }
}
)";

inline constexpr const char* kColumnSum = R"(
kernel column_sum(x: f32[M, N]) -> (out: f32[N]) {
  for n in tile(N) {
    out[n] = sum(x[:, n], dim=0);
  }
}
)";

inline constexpr const char* kPlaneSum = R"(
kernel plane_sum(x: f32[B, M, N]) -> (out: f32[B]) {
  for b in tile(B, block=1) {
    out[b] = sum(x[b, :, :], dim=(1, 2));
  }
}
)";

}  // namespace kaon::compiler
