// What a compiled variant asks of a call and of a device, and how it is launched. Plain data that the compiler writes,
// a pack carries, and the launch path reads.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/base/config.h"
#include "runtime/base/expr.h"

namespace kaon {

enum class GuardKind : uint8_t {
  kDivisible,     // slots[slot] % value == 0: extents, strides, and pointers (alignment in bytes)
  kEqual,         // slots[slot] == value
  kAtMost,        // slots[slot] <= value: capacities
  kAtLeast,       // slots[slot] >= value
  kCongruent,     // (slots[slot] - slots[other]) % value == 0: rows of two tensors start at the same phase
  kSpanAtMost,    // sum over axes of (extent - 1) * |stride| of tensor `slot` is <= value elements: 32-bit indexing
};

struct Guard {
  GuardKind kind = GuardKind::kDivisible;
  uint16_t slot = 0;
  uint16_t other = 0;
  int64_t value = 0;
};

enum class StepKind : uint8_t {
  kKernel,  // the compiled kernel
  kZero,    // clear tensor `tensor` before it
};

struct LaunchStep {
  StepKind kind = StepKind::kKernel;
  uint16_t tensor = 0;  // kZero only
};

/// One launch: a flat grid of `programs` blocks of `threads` threads.
struct LaunchPlan {
  std::vector<LaunchStep> steps;   // in order; exactly one kKernel
  Expr programs;                   // number of blocks; 0 means that there is nothing to do
  uint32_t threads = 0;            // per block, a multiple of 32
  uint32_t shared_bytes = 0;       // dynamic shared memory per block
  uint32_t cluster = 1;            // blocks per cluster
};

/// What a device must have for the variant to run there at all.
struct Requirements {
  uint32_t shared_bytes = 0;
  uint32_t registers_per_thread = 0;  // 0 when unknown (host)
  uint32_t threads = 0;
};

/// Read back from the assembler; zeros on host.
struct Resources {
  uint32_t registers = 0;
  uint32_t spill_store_bytes = 0;
  uint32_t spill_load_bytes = 0;
  uint32_t stack_bytes = 0;
  uint32_t static_shared_bytes = 0;
  uint32_t dynamic_shared_bytes = 0;
};

/// A variant without its images.
struct VariantInfo {
  std::string symbol;        // entry point in every image
  Config config;
  std::vector<Guard> guards; // all must hold
  LaunchPlan plan;
  Requirements requirements;
};

}  // namespace kaon
