// Host images for tests: vector addition with a place for a planted fault, made by the system's C compiler.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "aot_runner/measure/protocol.h"

namespace kaon::runner {

inline constexpr const char* kVectorAddIr = R"ir(kernel vector_add {
  stage logical
  dim N
  tensor x: f32[N]
  tensor y: f32[N]
  tensor out: f32[N] output, alias x
  axis n: tile begin 0, end N
  tile {axes = [n]} {
    %0:f32[n] = load x[n]
    %1:f32[n] = load y[n]
    %2:f32[n] = binary %0, %1 {fn = "add"}
    store out[n] %2
  }
}
)ir";

/// Copies integers: every bit pattern can be a result.
inline constexpr const char* kCopyIr = R"ir(kernel copy {
  stage logical
  dim N
  tensor x: i32[N]
  tensor out: i32[N] output
  axis n: tile begin 0, end N
  tile {axes = [n]} {
    %0:i32[n] = load x[n]
    store out[n] %0
  }
}
)ir";

/// An image whose entry `kernel` runs `statements` once per thread: i = thread of the grid, N, x, y, out as floats, s
/// the slots, self the thread. Empty when there is no compiler.
inline std::string compile_image(const std::string& statements) {
  const std::string base = ::testing::TempDir() + "kaon_measure_test_" + std::to_string(getpid());
  std::ofstream(base + ".c") << "#include \"runtime/host/simt_abi.h\"\n"
                                "void kernel(struct KaonSimtThread* self, const int64_t* s) {\n"
                                "  int64_t i = self->block * self->num_threads + self->thread, N = s[3];\n"
                                "  float *x = (float*)s[0], *y = (float*)s[1], *out = (float*)s[2];\n"
                                "  (void)i; (void)N; (void)x; (void)y; (void)out;\n"
                             << statements << "\n}\n";
  const std::string command = "cc -O1 -fPIC -shared -nostdlib -I" KAON_SOURCE_DIR " -o " + base + ".so " + base + ".c";
  if (std::system(command.c_str()) != 0) return {};
  std::ifstream file(base + ".so", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  std::remove((base + ".c").c_str());
  std::remove((base + ".so").c_str());
  return bytes;
}

/// One thread per element, 64 a block; the number of elements is slot `dim_slot`.
inline VariantInfo elementwise_info(int dim_slot) {
  VariantInfo info;
  info.symbol = "kernel";
  info.plan.steps = {{StepKind::kKernel, 0}};
  info.plan.programs = ceil_div(Expr::slot(dim_slot), Expr(64));
  info.plan.threads = 64;
  return info;
}

inline Request kernel_request(const std::string& id, const std::string& ir) {
  Request request;
  request.kind = RequestKind::kKernel;
  request.kernel = {id, ir};
  return request;
}

inline Request variant_request(const std::string& id, const std::string& kernel, const VariantInfo& info,
                               const std::string& image) {
  Request request;
  request.kind = RequestKind::kVariant;
  request.variant = {id, kernel, info, "", image};
  return request;
}

inline Request measure_request(const std::string& kernel, int64_t n, std::vector<std::string> variants) {
  Request request;
  request.kind = RequestKind::kMeasure;
  request.number = 77;
  request.measure.kernel = kernel;
  request.measure.shape.dims["N"] = n;
  request.measure.variants = std::move(variants);
  request.measure.options.max_seconds = 0.2;
  return request;
}

}  // namespace kaon::runner
