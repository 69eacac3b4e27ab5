// Measurement tables from known cost models, so that a test knows the right choice of every shape.
#pragma once

#include <cmath>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "heuristics/random.h"
#include "heuristics/table.h"
#include "runtime/base/guards.h"

namespace kaon::heuristics::testing {

/// out[M, N] from x[M, N], as a row kernel has it. Slots: x, out, M, N, strides.
inline Signature row_signature(DType dtype = DType::kF16) {
  Signature signature;
  signature.kernel = "row";
  signature.dims = {"M", "N"};
  for (const char* name : {"x", "out"}) {
    TensorParam tensor;
    tensor.name = name;
    tensor.dtype = dtype;
    tensor.dtype_var = "T";
    tensor.is_output = std::string(name) == "out";
    tensor.extents = {Expr::slot(2), Expr::slot(3)};
    signature.tensors.push_back(tensor);
  }
  return signature;
}
constexpr uint16_t kSlotM = 2, kSlotN = 3;

/// Time in microseconds without noise; a negative number makes the cell a failure.
using CostFunction = std::function<double(const Config& config, int64_t m, int64_t n)>;

struct SyntheticOptions {
  double noise = 0.01;  // relative standard deviation of each median
  int passes = 2;
  uint64_t seed = 7;
};

inline double gaussian(Random* random) {
  double sum = 0;
  for (int i = 0; i < 12; ++i) sum += random->uniform();
  return sum - 6;
}

inline void add_shape(Table* table, int64_t m, int64_t n, Role role, double weight = 1) {
  std::vector<int64_t> slots = contiguous_slots(table->signature, {m, n}, {});
  for (const Shape& shape : table->shapes) {
    if (shape.slots == slots) return;
  }
  table->shapes.push_back({slots, weight, role});
}

inline int add_config(Table* table, const Config& config, std::vector<Guard> guards, int64_t rows_per_block = 1) {
  ConfigRow row;
  row.variant.symbol = "row_" + std::to_string(table->configs.size());
  row.variant.config = config;
  row.variant.guards = std::move(guards);
  row.variant.plan.steps = {{StepKind::kKernel, 0}};
  row.variant.plan.programs = ceil_div(Expr::slot(kSlotM), Expr(rows_per_block));
  row.variant.plan.threads = static_cast<uint32_t>(32 * config.get_int("num_warps", 4));
  row.variant.requirements.threads = row.variant.plan.threads;
  row.resources.registers = 32;
  table->configs.push_back(std::move(row));
  return table->num_configs() - 1;
}

inline void measure(Table* table, const CostFunction& cost, const SyntheticOptions& options) {
  Random random(options.seed);
  for (int p = 0; p < options.passes; ++p) {
    const int pass = table->add_pass();
    for (int c = 0; c < table->num_configs(); ++c) {
      const VariantInfo& variant = table->configs[c].variant;
      for (int s = 0; s < table->num_shapes(); ++s) {
        const int64_t* slots = table->shapes[s].slots.data();
        const double noise = gaussian(&random);
        if (first_refusing(table->signature, variant.guards, slots) >= 0) continue;
        const double us = cost(variant.config, slots[kSlotM], slots[kSlotN]);
        Cell& cell = table->cell(pass, c, s);
        if (us < 0) {
          cell.failure = table->add_failure(FailureKind::kTimeout, "exceeded 2 s");
          continue;
        }
        cell.median_ns = std::max<int64_t>(1, std::llround(1000 * us * (1 + options.noise * noise)));
        cell.mad_permille = 4;
        cell.samples = 25;
      }
    }
  }
}

inline Measurements wrap(Table table) {
  Measurements m;
  m.kernel = "row";
  m.device.name = "synthetic";
  m.device.hardware = "sm90";
  m.device.driver = "580.0";
  m.device.sm_count = 132;
  m.device.max_threads_per_sm = 2048;
  m.device.registers_per_sm = 65536;
  m.device.shared_bytes_per_sm = 233472;
  m.device.shared_bytes_per_block = 232448;
  m.origin = {"0123456789abcdef", "kaonc 0.1.0", "13.0.88", "2026-12-01", "synthetic"};
  m.noise_floor_permille = 10;
  m.empty_graph_ns = 4100;
  m.tables.push_back(std::move(table));
  return m;
}

inline void add_log_uniform(Table* table, int count, Role role, Random* random) {
  for (int i = 0; i < count; ++i) {
    const int64_t m = std::llround(std::exp2(random->uniform() * 15));
    int64_t n = std::llround(std::exp2(7 + random->uniform() * 10));
    if (i % 4 != 0) n = (n + 63) / 64 * 64;
    add_shape(table, m, n, role);
  }
}

/// A sweep like that of a row kernel: many N at one M, corners, odd N, seeded log-uniform samples; held-out shapes
/// drawn like the last two.
inline void add_row_sweep(Table* table, uint64_t seed = 3) {
  for (int i = 2; i < 100; i += 3) add_shape(table, 4096, 128 * i, Role::kTrain);
  for (int64_t m : {1, 16, 128, 1024, 32768}) {
    for (int64_t n : {256, 1024, 4096, 16384, 32768, 131072}) add_shape(table, m, n, Role::kTrain);
  }
  for (int64_t n : {127, 509, 1001, 3001, 12543, 50257}) add_shape(table, 4096, n, Role::kMeasure);
  Random random(seed);
  add_log_uniform(table, 50, Role::kTrain, &random);
  add_log_uniform(table, 40, Role::kHeldOut, &random);
  for (int i = 0; i < 20; ++i) {
    add_shape(table, 4096, 128 * static_cast<int64_t>(2 + random.below(98)), Role::kHeldOut);
  }
}

inline Guard at_most(uint16_t slot, int64_t value) { return {GuardKind::kAtMost, slot, 0, value}; }
inline Guard divisible(uint16_t slot, int64_t value) { return {GuardKind::kDivisible, slot, 0, value}; }

/// Resident rows with a capacity (a guard) against looped ones; too many threads for a short row waste time.
inline Table capacity_table(const SyntheticOptions& options = {}) {
  Table table;
  table.signature = row_signature();
  add_row_sweep(&table);
  Config generic;
  generic.set("num_warps", 4);
  generic.set("reduce.N", "chunk(1024)");
  generic.set("vec", 1);
  table.generic_config = table.default_config = add_config(&table, generic, {});
  for (int64_t warps : {1, 2, 4, 8, 16}) {
    for (int64_t rounds : {1, 2, 4, 7, 8, 16}) {
      Config config;
      config.set("num_warps", warps);
      config.set("reduce.N", "resident(" + std::to_string(rounds) + ")");
      config.set("vec", 8);
      add_config(&table, config, {at_most(kSlotN, warps * 32 * 8 * rounds), divisible(kSlotN, 8)});
    }
    for (int64_t vec : {1, 8}) {
      Config config;
      config.set("num_warps", warps);
      config.set("reduce.N", "chunk(4096)");
      config.set("vec", vec);
      add_config(&table, config, vec == 8 ? std::vector<Guard>{divisible(kSlotN, 8)} : std::vector<Guard>{});
    }
  }
  auto cost = [](const Config& config, int64_t m, int64_t n) {
    const KnobValue reduce = *parse_knob_value(config.get("reduce.N", "chunk(1024)"));
    const double threads = 32.0 * static_cast<double>(config.get_int("num_warps", 4));
    const double vec = static_cast<double>(config.get_int("vec", 1));
    const bool resident = reduce.word == "resident";
    const double rounds = std::ceil(static_cast<double>(n) / (threads * vec));
    const double bytes = 4.0 * static_cast<double>(m * n) * (resident ? 1.0 : 1.5);
    const double registers = resident ? 24 + 5.0 * static_cast<double>(reduce.argument) : 40;
    const double blocks = std::max(1.0, std::min({32.0, 2048 / threads, 65536 / (threads * registers)}));
    const double waves = std::ceil(static_cast<double>(m) / (132 * blocks));
    const double per_row_us = 0.6 + 0.012 * rounds * (vec == 8 ? 8 : 3) + 0.05 * std::log2(threads);
    const double occupancy = std::min(1.0, blocks * threads / 1024);
    return 4.1 + std::max(bytes / 4.2e6 / std::min(1.0, 0.55 + 0.45 * occupancy), waves * per_row_us);
  };
  measure(&table, cost, options);
  return table;
}

/// Rows per block and warps: time in whole waves over 132 multiprocessors, so the sweep is dense in M.
inline Table wave_table(const SyntheticOptions& options = {}) {
  Table table;
  table.signature = row_signature();
  for (int64_t n : {512, 4096, 16384}) {
    for (int i = 0; i <= 45; ++i) add_shape(&table, std::llround(std::exp2(i / 3.0)), n, Role::kTrain);
  }
  add_row_sweep(&table);
  for (int64_t rows : {1, 2, 4, 8, 16}) {
    for (int64_t warps : {1, 2, 4, 8}) {
      Config config;
      config.set("block.m", rows);
      config.set("num_warps", warps);
      add_config(&table, config, {}, rows);
    }
  }
  table.generic_config = 2;
  table.default_config = 2;
  auto cost = [](const Config& config, int64_t m, int64_t n) {
    const double rows = static_cast<double>(config.get_int("block.m", 1));
    const double threads = 32.0 * static_cast<double>(config.get_int("num_warps", 4));
    const double blocks = std::ceil(static_cast<double>(m) / rows);
    const double resident = std::min(32.0, 2048 / threads);
    const double waves = std::ceil(blocks / (132 * resident));
    const double block_us = 0.8 + rows * std::ceil(static_cast<double>(n) / (threads * 8)) * 0.02 * resident / 4;
    return 4.1 + waves * block_us + 0.0006 * blocks / 132 * 8;
  };
  measure(&table, cost, options);
  return table;
}

/// Two regimes, each with many twins within a third of a percent: there is one real boundary, N at 8192.
inline Table twin_table(const SyntheticOptions& options = {}) {
  Table table;
  table.signature = row_signature();
  add_row_sweep(&table);
  for (int64_t regime : {0, 1}) {
    for (int64_t twin = 0; twin < 10; ++twin) {
      Config config;
      config.set("impl", regime);
      config.set("unroll", twin);
      add_config(&table, config, {});
    }
  }
  auto cost = [](const Config& config, int64_t m, int64_t n) {
    const bool right = (config.get_int("impl", 0) == 0) == (n <= 8192);
    const double base = 5 + 4e-6 * static_cast<double>(m * n);
    return base * (right ? 1.0 : 1.25) * (1 + 0.0003 * static_cast<double>(config.get_int("unroll", 0)));
  };
  measure(&table, cost, options);
  return table;
}

/// The fastest config fails on rows above 20000 although no guard says so.
inline Table failing_table(const SyntheticOptions& options = {}) {
  Table table;
  table.signature = row_signature();
  add_row_sweep(&table);
  for (int64_t kind = 0; kind < 4; ++kind) {
    Config config;
    config.set("impl", kind);
    add_config(&table, config, {});
  }
  auto cost = [](const Config& config, int64_t m, int64_t n) {
    const int64_t kind = config.get_int("impl", 0);
    if (kind == 3 && n > 20000) return -1.0;
    return (5 + 4e-6 * static_cast<double>(m * n)) * (kind == 3 ? 1.0 : kind == 2 ? 1.3 : kind == 1 ? 1.4 : 1.6);
  };
  measure(&table, cost, options);
  return table;
}

}  // namespace kaon::heuristics::testing
