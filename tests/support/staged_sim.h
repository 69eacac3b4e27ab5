// Runs a staged kernel thread by thread in double precision and reports what hardware would let pass in silence: races
// on shared memory, reads of nothing, vectors that are unaligned or cut, accesses outside a tensor.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// Elements of a tensor in doubles, whatever its dtype. `address` is where element 0 would lie in bytes.
struct SimTensor {
  std::vector<double> data;
  int64_t address = 0;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
};

/// A tensor with the strides of a dense array whose rows are `row_padding` elements longer than the last size.
SimTensor dense_tensor(std::vector<int64_t> sizes, int64_t address, int64_t row_padding = 0);

struct SimCall {
  std::vector<SimTensor> tensors;     // in signature order
  std::vector<int64_t> dims;          // value of each symbolic dim
  std::vector<int64_t> scalar_slots;  // bits of each scalar parameter
};

std::vector<int64_t> slots_of(const Signature& signature, const SimCall& call);

/// True when all guards of the kernel hold for the call.
bool accepts(const Kernel& kernel, const SimCall& call);

/// What a run counted, for tests of cost.
struct SimCounts {
  int64_t load_instructions = 0;  // of one thread each, over all programs
  int64_t store_instructions = 0;
  int64_t barriers = 0;  // per program, summed
};

/// Runs every program of the grid. kInternal with the op and place for the first thing that is wrong.
Result<SimCounts> simulate(const Kernel& staged, SimCall* call);

}  // namespace kaon::compiler
