// The committed text of measurements and of the integer training table.
#include <algorithm>
#include <functional>

#include "heuristics/json_writer.h"
#include "heuristics/schema.h"
#include "heuristics/table.h"
#include "heuristics/training.h"

namespace kaon::heuristics {
namespace {

constexpr int kShortestRun = 4;  // of absent cells, to be written as a count

void write_expr(JsonWriter& json, const Expr& expr) {
  json.begin_array();
  for (const ExprStep& step : expr.steps()) {
    if (step.op == ExprOp::kConst) {
      json.value(step.operand);
    } else if (step.op == ExprOp::kSlot) {
      json.value("s" + std::to_string(step.operand));
    } else {
      json.value(kExprOpNames[static_cast<int>(step.op)]);
    }
  }
  json.end_array();
}

void write_signature(JsonWriter& json, const Signature& signature) {
  json.begin_object();
  json.key("dims").array(signature.dims);
  json.key("tensors").begin_array();
  for (const TensorParam& tensor : signature.tensors) {
    json.line(1).begin_object();
    json.key("name").value(tensor.name).key("dtype").value(dtype_name(tensor.dtype));
    json.key("dtype_var").value(tensor.dtype_var).key("output").value(tensor.is_output);
    json.key("zeroed").value(tensor.is_zeroed).key("aliases").value(tensor.aliases);
    json.key("extents").begin_array();
    for (const Expr& extent : tensor.extents) write_expr(json, extent);
    json.end_array().end_object();
  }
  json.end_array().key("scalars").begin_array();
  for (const ScalarParam& scalar : signature.scalars) {
    json.begin_object().key("name").value(scalar.name).key("dtype").value(dtype_name(scalar.dtype)).end_object();
  }
  json.end_array().key("requires").begin_array();
  for (const Require& require : signature.requires_) {
    json.begin_object().key("condition");
    write_expr(json, require.condition);
    json.key("text").value(require.text).end_object();
  }
  json.end_array().end_object();
}

void write_config(JsonWriter& json, const ConfigRow& row) {
  const VariantInfo& variant = row.variant;
  json.line().begin_object().key("symbol").value(variant.symbol);
  json.key("config").raw(variant.config.to_json());
  json.key("guards").begin_array();
  for (const Guard& guard : variant.guards) {
    json.begin_array().value(kGuardNames[static_cast<int>(guard.kind)]);
    json.value(int64_t{guard.slot}).value(int64_t{guard.other}).value(guard.value).end_array();
  }
  json.end_array().key("steps").begin_array();
  for (const LaunchStep& step : variant.plan.steps) {
    json.begin_array().value(step.kind == StepKind::kZero ? "zero" : "kernel").value(int64_t{step.tensor}).end_array();
  }
  json.end_array().key("programs");
  write_expr(json, variant.plan.programs);
  json.key("launch").array(std::vector<int64_t>{variant.plan.threads, variant.plan.shared_bytes, variant.plan.cluster});
  const Requirements& need = variant.requirements;
  json.key("needs").array(std::vector<int64_t>{need.shared_bytes, need.registers_per_thread, need.threads});
  const Resources& used = row.resources;
  json.key("resources")
      .array(std::vector<int64_t>{used.registers, used.spill_store_bytes, used.spill_load_bytes, used.stack_bytes,
                                  used.static_shared_bytes, used.dynamic_shared_bytes});
  json.end_object();
}

// Cells of one config: nanoseconds, "f<index>" for a failure, 0 for an absent cell, "x<count>" for a run of those.
std::string median_row(const Table& table, int pass, int c) {
  std::string row;
  auto append = [&](const std::string& item) { row += (row.empty() ? "" : ",") + item; };
  int absent = 0;
  auto flush_absent = [&] {
    if (absent >= kShortestRun) {
      append("\"x" + std::to_string(absent) + "\"");
    } else {
      for (int i = 0; i < absent; ++i) append("0");
    }
    absent = 0;
  };
  for (int s = 0; s < table.num_shapes(); ++s) {
    const Cell& cell = table.cell(pass, c, s);
    if (!cell.measured() && !cell.failed()) {
      ++absent;
      continue;
    }
    flush_absent();
    append(cell.failed() ? "\"f" + std::to_string(cell.failure) + "\"" : std::to_string(cell.median_ns));
  }
  flush_absent();
  return "[" + row + "]";
}

void write_medians(JsonWriter& json, const Table& table, int pass) {
  json.line().key("median_ns").begin_array();
  for (int c = 0; c < table.num_configs(); ++c) json.line().raw(median_row(table, pass, c));
  json.end_array();
}

// Per config the values of its measured cells in order, or one number where they agree.
void write_side(JsonWriter& json, const Table& table, int pass, const char* name, int32_t Cell::*field) {
  json.line().key(name).begin_array();
  for (int c = 0; c < table.num_configs(); ++c) {
    std::vector<int32_t> row;
    for (int s = 0; s < table.num_shapes(); ++s) {
      const Cell& cell = table.cell(pass, c, s);
      if (cell.measured()) row.push_back(cell.*field);
    }
    json.line();
    if (std::adjacent_find(row.begin(), row.end(), std::not_equal_to<>()) == row.end()) {
      json.value(row.empty() ? 0 : row[0]);
    } else {
      json.array(row);
    }
  }
  json.end_array();
}

void write_table(JsonWriter& json, const Table& table) {
  json.line().begin_object().line().key("signature");
  write_signature(json, table.signature);
  json.line().key("shapes").begin_array();
  for (const Shape& shape : table.shapes) {
    json.line().begin_array().value(role_name(shape.role)).value(shape.weight).array(shape.slots).end_array();
  }
  json.end_array().line().key("configs").begin_array();
  for (const ConfigRow& row : table.configs) write_config(json, row);
  json.end_array();
  json.line().key("generic_config").value(table.generic_config);
  json.key("default_config").value(table.default_config);
  json.line().key("failures").begin_array();
  for (const Failure& failure : table.failures) {
    json.line().begin_array().value(failure_name(failure.kind)).value(failure.message).end_array();
  }
  json.end_array().line().key("passes").begin_array();
  for (int p = 0; p < table.num_passes(); ++p) {
    json.line().begin_object();
    write_medians(json, table, p);
    write_side(json, table, p, "mad_permille", &Cell::mad_permille);
    write_side(json, table, p, "samples", &Cell::samples);
    json.end_object();
  }
  json.end_array().end_object();
}

void write_device(JsonWriter& json, const DeviceFacts& device) {
  json.begin_object().key("name").value(device.name).key("hardware").value(device.hardware);
  json.key("driver").value(device.driver);
  json.key("sm_count").value(device.sm_count).key("max_threads_per_sm").value(device.max_threads_per_sm);
  json.key("registers_per_sm").value(device.registers_per_sm);
  json.key("shared_bytes_per_sm").value(device.shared_bytes_per_sm);
  json.key("shared_bytes_per_block").value(device.shared_bytes_per_block);
  json.key("l2_bytes").value(device.l2_bytes);
  json.key("sm_clock_mhz").value(device.sm_clock_mhz).key("memory_clock_mhz").value(device.memory_clock_mhz);
  json.end_object();
}

}  // namespace

std::string write_measurements(const Measurements& measurements) {
  JsonWriter json;
  json.begin_object().line().key("format").value(kMeasurementsFormat).key("version").value(kFormatVersion);
  json.line().key("kernel").value(measurements.kernel);
  json.line().key("device");
  write_device(json, measurements.device);
  const Origin& origin = measurements.origin;
  json.line().key("origin").begin_object().key("source_hash").value(origin.source_hash);
  json.key("compiler").value(origin.compiler).key("ptxas").value(origin.ptxas);
  json.key("date").value(origin.date).key("method").value(origin.method).end_object();
  json.line().key("noise_floor_permille").value(measurements.noise_floor_permille);
  json.key("noise_floor_ns").value(measurements.noise_floor_ns);
  json.key("empty_graph_ns").value(measurements.empty_graph_ns).key("seconds").value(measurements.seconds);
  json.line().key("derived_features").array(measurements.derived_features);
  json.key("ignored_dims").array(measurements.ignored_dims);
  json.line().key("tables").begin_array();
  for (const Table& table : measurements.tables) write_table(json, table);
  json.end_array().line().end_object();
  return json.text() + "\n";
}

std::string write_training(const TrainingSet& training) {
  JsonWriter json;
  json.begin_object().line().key("format").value(kTrainingFormat).key("version").value(kFormatVersion);
  json.line().key("kernel").value(training.kernel);
  json.line().key("measurements_hash").value(hash_text(training.measurements_hash));
  json.line().key("tables").begin_array();
  for (const TrainingTable& table : training.tables) {
    json.line().begin_object().key("dtypes").value(table.dtypes).key("kept").array(table.kept);
    json.line().key("with_teacher").value(table.with_teacher).key("teacher_note").value(table.teacher_note);
    json.line().key("price_with_micro").value(table.price_with_micro);
    json.key("price_without_micro").value(table.price_without_micro);
    json.line().key("predicted").begin_array();
    for (const PredictedShape& shape : table.predicted) {
      json.line()
          .begin_array()
          .array(shape.slots)
          .value(shape.weight_permille)
          .array(shape.slowdown_permille)
          .end_array();
    }
    json.end_array().end_object();
  }
  json.end_array().line().end_object();
  return json.text() + "\n";
}

}  // namespace kaon::heuristics
