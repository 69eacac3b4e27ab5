// Random logical kernels over rows, for comparing two ways of running or writing the same program.
#pragma once

#include <cstdint>

#include "compiler/ir/ir.h"

namespace kaon::compiler {

struct RandomKernelOptions {
  uint64_t seed = 1;
  int num_ops = 16;             // ops between loads and the store, apart from the casts and broadcasts they need
  int num_inputs = 2;           // x0, x1, ...: [M, N]
  bool with_reductions = true;  // sum, max and min over a row
  bool with_steps = true;       // floor, comparisons and select, where rounding may decide
};

/// kernel random<seed>(x0: T[M, N], ..., bias: T[N]) -> (out: T[M, N], row: T[M]): element-wise functions, casts between
/// f32, f16 and bf16, row reductions and broadcasts, each of dtypes chosen by the seed. Magnitudes stay small for inputs
/// of order one. Equal options give equal kernels on every machine.
Kernel random_kernel(const RandomKernelOptions& options);

}  // namespace kaon::compiler
