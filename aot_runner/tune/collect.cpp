#include "aot_runner/tune/collect.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "aot_runner/compile/messages.h"
#include "compiler/compile.h"

namespace kaon::runner {
namespace {

constexpr double kLeastNoise = 0.003;
constexpr double kMostNoise = 0.20;  // a device noisier than this still has differences worth telling apart

heuristics::FailureKind failure_kind(Failure failure) {
  switch (failure) {
    case Failure::kWrongResult:
    case Failure::kInputModified:
    case Failure::kNotWritten: return heuristics::FailureKind::kWrongResult;
    case Failure::kRedZone:
    case Failure::kMachine:
    case Failure::kCrash: return heuristics::FailureKind::kFault;
    case Failure::kTimeout: return heuristics::FailureKind::kTimeout;
    case Failure::kLaunch: return heuristics::FailureKind::kResources;
    case Failure::kNone:
    case Failure::kGuard: break;
  }
  return heuristics::FailureKind::kOther;
}

heuristics::Cell make_cell(const StoredCell& stored, heuristics::Table* table) {
  heuristics::Cell cell;
  if (stored.failure != Failure::kNone) {
    cell.failure = table->add_failure(failure_kind(stored.failure), stored.message);
    return cell;
  }
  cell.median_ns = std::max<int64_t>(1, std::llround(stored.median_us * 1000));
  cell.mad_permille = static_cast<int32_t>(std::llround(1000 * stored.mad_us / std::max(stored.median_us, 1e-9)));
  cell.samples = stored.samples;
  return cell;
}

/// The most frequent reason, for a run in which nothing worked.
std::string commonest_failure(const Sweep& sweep, const heuristics::Table& table) {
  std::map<std::string, int> reasons;
  for (const auto& [config, variant] : sweep.variants()) {
    if (variant.code != Code::kOk) ++reasons["does not compile: " + variant.message];
  }
  for (const heuristics::Cell& cell : table.passes.empty() ? std::vector<heuristics::Cell>() : table.passes[0]) {
    if (!cell.failed()) continue;
    const heuristics::Failure& failure = table.failures[static_cast<size_t>(cell.failure)];
    ++reasons[fmt::format("{}: {}", heuristics::failure_name(failure.kind), failure.message)];
  }
  const auto most = std::max_element(reasons.begin(), reasons.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == reasons.end() ? std::string("no shape is accepted by any variant") : most->first;
}

}  // namespace

std::vector<int64_t> scalar_bits(const Signature& signature, const std::map<std::string, double>& values) {
  std::vector<int64_t> bits;
  for (const ScalarParam& scalar : signature.scalars) {
    const auto given = values.find(scalar.name);
    const double value = given == values.end() ? 1.0 : given->second;
    int64_t row = 0;
    if (scalar.dtype == DType::kF32) {
      const auto single = static_cast<float>(value);
      std::memcpy(&row, &single, sizeof single);
    } else if (dtype_is_float(scalar.dtype)) {
      std::memcpy(&row, &value, sizeof value);
    } else {
      row = std::llround(value);
    }
    bits.push_back(row);
  }
  return bits;
}

Result<heuristics::Table> collect_table(const Session& session, const BoundKernel& binding, const ShapesSpec& spec,
                                        const Sweep& sweep, const std::vector<Config>& finalists,
                                        const Config& default_config, const Config& generic_config) {
  heuristics::Table table;
  table.signature = binding.logical.signature;
  std::vector<Shape> dims;
  const auto add_shapes = [&](const std::vector<WeightedShape>& set, heuristics::Role role) {
    for (const WeightedShape& s : set) {
      table.shapes.push_back({sweep.slots(s.shape), s.weight, role});
      dims.push_back(s.shape);
    }
  };
  add_shapes(spec.train, heuristics::Role::kTrain);
  add_shapes(spec.measure, heuristics::Role::kMeasure);
  add_shapes(spec.held_out, heuristics::Role::kHeldOut);
  std::vector<Config> configs;
  for (const Config& config : finalists) {
    const StoredVariant* variant = sweep.variant(config);
    if (variant == nullptr || variant->code != Code::kOk) continue;
    KAON_ASSIGN_OR_RETURN(Resources resources, resources_from_json(variant->resources));
    if (config == default_config) table.default_config = static_cast<int>(configs.size());
    if (config == generic_config) table.generic_config = static_cast<int>(configs.size());
    configs.push_back(config);
    table.configs.push_back({*sweep.info(config), resources});
  }
  const StoredVariant* generic = sweep.variant(generic_config);
  if (generic == nullptr || generic->code != Code::kOk) {
    return Status(Code::kNotFound,
                  fmt::format("{} {}: the generic config {} does not compile, so that no call is sure to be served: {}",
                              session.kernel->name, binding.title, generic_config.to_text(),
                              generic == nullptr ? "it was never tried" : generic->message));
  }
  const int passes = spec.held_out.empty() ? 1 : 2;
  int measured = 0;
  for (int pass = 0; pass < passes; ++pass) {
    table.add_pass();
    for (size_t c = 0; c < configs.size(); ++c) {
      for (size_t s = 0; s < dims.size(); ++s) {
        const StoredCell* cell = sweep.cell(configs[c], dims[s], pass);
        if (cell == nullptr || cell->failure == Failure::kGuard) continue;
        table.cell(pass, static_cast<int>(c), static_cast<int>(s)) = make_cell(*cell, &table);
        measured += cell->failure == Failure::kNone ? 1 : 0;
      }
    }
  }
  if (measured == 0) {
    return Status(Code::kNotFound, fmt::format("{} {}: no config could be measured on any shape; mostly: {}",
                                               session.kernel->name, binding.title, commonest_failure(sweep, table)));
  }
  return table;
}

heuristics::Measurements collect_measurements(const Session& session, std::vector<heuristics::Table> tables,
                                              double seconds) {
  heuristics::Measurements m;
  m.kernel = session.kernel->name;
  m.device.name = session.device.name;
  m.device.hardware = session.device.hardware;
  m.device.driver = session.device.driver;
  m.device.sm_count = session.device.sm_count;
  m.device.max_threads_per_sm = session.target.is_host ? 0 : 2048;
  m.device.registers_per_sm = session.target.is_host ? 0 : static_cast<int32_t>(session.target.registers_per_sm);
  m.device.shared_bytes_per_sm = session.device.max_shared_bytes > 0 ? session.device.max_shared_bytes + 1024 : 0;
  m.device.shared_bytes_per_block = session.device.max_shared_bytes;
  m.device.l2_bytes = session.device.l2_bytes;
  m.device.sm_clock_mhz = session.device.clock_mhz;
  m.device.memory_clock_mhz = session.device.memory_clock_mhz;
  m.origin.source_hash = session.source->source_hash();
  m.origin.compiler = fmt::format("{}, {}", compiler::compiler_version(), compiler::llvm_version());
  m.origin.ptxas = session.target.is_host ? std::string() : session.ptxas_version;
  m.origin.date = session.run.date;
  m.origin.method = session.target.is_host ? "interleaved medians on the SIMT machine, checks off"
                                           : "cold L2, CUDA graph replay, candidates interleaved, medians";
  const double noise = std::clamp(session.calibration.noise_relative, kLeastNoise, kMostNoise);
  m.noise_floor_permille = static_cast<int32_t>(std::llround(1000 * noise));
  m.noise_floor_ns = std::llround(1000 * session.calibration.noise_absolute_us);
  m.empty_graph_ns = std::llround(1000 * session.calibration.empty_us);
  m.seconds = std::round(seconds * 10) / 10;
  for (const DerivedFeature& derived : session.spec.derived) m.derived_features.push_back(derived.text);
  m.ignored_dims = session.spec.ignored;
  m.tables = std::move(tables);
  return m;
}

}  // namespace kaon::runner
