// Kernels that several tests of the front end compile.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compiler/frontend/frontend.h"
#include "compiler/ir/printer.h"
#include "compiler/ir/verifier.h"

namespace kaon::compiler {

inline const char* const kSoftmax = R"(
kernel softmax(x: T[M, N]) -> (out: T[M, N]) where T in (f16, bf16, f32) {
  for m in tile(M) {
    let row = f32(x[m, :]);
    let e = exp(row - amax(row, dim=1, keepdim=true));
    out[m, :] = T(e / sum(e, dim=1, keepdim=true));
  }
}
)";

inline const char* const kRope = R"(
kernel rope(x: T[B, S, 2 * H], c: f32[S, H], s: f32[S, H]) -> (out: T[B, S, 2 * H] alias x) where T in (f16, bf16) {
  for b in tile(B, block=1) { for t in tile(S) {
    let lo = f32(x[b.begin, t, 0:H]);
    let hi = f32(x[b.begin, t, H:2*H]);
    out[b.begin, t, :H] = T(lo * c[t, :] - hi * s[t, :]);
    out[b.begin, t, H:] = T(hi * c[t, :] + lo * s[t, :]);
  } }
}
)";

inline const char* const kColumnSum = R"(
fn gelu(x) { let c = 0.7978845608; return 0.5 * x * (1 + tanh(c * (x + 0.044715 * x * x * x))); }
kernel column_sum(x: f32[M, N], rows: i64, constexpr W: i64 = 8) -> (out: f32[N], hits: i64[N] = 0)
    require rows >= 0 and rows <= M {
  for n in tile(N) {
    var acc = zeros(f32, n);
    var count = zeros(i64, n);
    for m in tile(0, rows, block=W) {
      let v = x[m, n];
      acc += sum(v, dim=0);
      count += sum(where(v > 0.5 and not isnan(v), i64(1), 0), dim=(0,));
    }
    out[n] = gelu(acc) + f32(rows % 3);
    hits[n] = count & 0xff ^ 1 | count << 2;
  }
}
)";

/// The program, or null; everything that was reported is in `messages`.
inline std::unique_ptr<Program> compile_text(const std::string& text, std::string* messages = nullptr) {
  const SourceFile file("test.tile", text);
  Diagnostics diagnostics(file);
  std::unique_ptr<Program> program = Program::create(file, &diagnostics);
  if (messages != nullptr) *messages = diagnostics.render();
  return program;
}

/// Textual IR of the first kernel under its first binding, verified; the messages when there is none.
inline std::string ir_of(const std::string& text) {
  std::string messages;
  const std::unique_ptr<Program> program = compile_text(text, &messages);
  if (program == nullptr) return messages;
  const KernelInfo& info = program->kernels()[0];
  Result<Kernel> kernel = program->instantiate(info.name, info.bindings[0]);
  if (!kernel) return kernel.status().to_string();
  const Status valid = verify(*kernel);
  return valid ? print(*kernel) : valid.to_string();
}

}  // namespace kaon::compiler
