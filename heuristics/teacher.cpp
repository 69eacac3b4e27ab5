// XGBoost behind its C API: training rows in, predictions out.
#include "heuristics/teacher.h"

#include <xgboost/c_api.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/base/guards.h"

namespace kaon::heuristics {
namespace {

constexpr int kRounds = 160;
constexpr double kLargestSlowdown = 16;  // beyond it nothing is worth telling apart

Status xgb_error(const char* what) {
  return {Code::kInternal, std::string("xgboost: ") + what + ": " + XGBGetLastError()};
}

// Owns a DMatrix.
struct Matrix {
  DMatrixHandle handle = nullptr;
  Matrix() = default;
  Matrix(const Matrix&) = delete;
  Matrix& operator=(const Matrix&) = delete;
  ~Matrix() {
    if (handle != nullptr) XGDMatrixFree(handle);
  }
  Status create(const std::vector<float>& values, int columns) {
    const bst_ulong rows = values.size() / static_cast<size_t>(columns);
    const float missing = std::numeric_limits<float>::quiet_NaN();
    if (XGDMatrixCreateFromMat_omp(values.data(), rows, columns, missing, &handle, 1) != 0) {
      return xgb_error("matrix");
    }
    return Status::ok();
  }
};

}  // namespace

struct Teacher::Model {
  Model(const DeviceFacts& device, const Table& measured) : table(measured), features(device, measured) {}
  ~Model() {
    if (booster != nullptr) XGBoosterFree(booster);
  }
  Status configure(uint64_t seed) const;

  const Table& table;
  TeacherFeatures features;
  BoosterHandle booster = nullptr;
};

Status Teacher::Model::configure(uint64_t seed) const {
  const std::string seed_text = std::to_string(seed % 1'000'000'007);
  const std::pair<const char*, const char*> params[] = {
      {"booster", "gbtree"},
      {"objective", "reg:squarederror"},
      {"tree_method", "hist"},
      {"max_bin", "256"},
      {"eta", "0.12"},
      {"max_depth", "6"},
      {"min_child_weight", "12"},
      {"lambda", "1"},
      {"base_score", "0.3"},
      {"nthread", "1"},
      {"verbosity", "0"},
      {"seed", seed_text.c_str()},
  };
  for (const auto& [name, value] : params) {
    if (XGBoosterSetParam(booster, name, value) != 0) return xgb_error(name);
  }
  return Status::ok();
}

Teacher::Teacher(std::unique_ptr<Model> model) : model_(std::move(model)) {}
Teacher::Teacher(Teacher&&) noexcept = default;
Teacher& Teacher::operator=(Teacher&&) noexcept = default;
Teacher::~Teacher() = default;

Result<Teacher> Teacher::train(const DeviceFacts& device, const Table& table, const CostTable& costs,
                               const std::vector<int>& shapes, uint64_t seed) {
  auto model = std::make_unique<Model>(device, table);
  std::vector<float> rows, labels, weights;
  for (int s : shapes) {
    for (int c = 0; c < table.num_configs(); ++c) {
      if (costs.state(s, c) != CellState::kMeasured) continue;
      model->features.append(c, table.shapes[s].slots.data(), &rows);
      const double slowdown = std::min(costs.slowdown(s, c), kLargestSlowdown);
      labels.push_back(static_cast<float>(std::log(std::max(slowdown, 1.0))));
      // Errors near the top of a shape's ranking cost most: they decide which config wins.
      weights.push_back(static_cast<float>(1.0 / (0.15 + std::log(std::max(slowdown, 1.0)))));
    }
  }
  if (labels.empty()) return Status(Code::kInvalidArgument, "the teacher has no measured cell to learn from");
  Matrix matrix;
  KAON_RETURN_IF_ERROR(matrix.create(rows, model->features.num_columns()));
  if (XGDMatrixSetFloatInfo(matrix.handle, "label", labels.data(), labels.size()) != 0 ||
      XGDMatrixSetFloatInfo(matrix.handle, "weight", weights.data(), weights.size()) != 0) {
    return xgb_error("labels");
  }
  if (XGBoosterCreate(&matrix.handle, 1, &model->booster) != 0) return xgb_error("booster");
  KAON_RETURN_IF_ERROR(model->configure(seed));
  for (int round = 0; round < kRounds; ++round) {
    if (XGBoosterUpdateOneIter(model->booster, round, matrix.handle) != 0) return xgb_error("training");
  }
  return Teacher(std::move(model));
}

Result<std::vector<PredictedShape>> Teacher::predict(const std::vector<std::vector<int64_t>>& shapes,
                                                     const std::vector<int32_t>& kept) const {
  std::vector<PredictedShape> predicted;
  if (shapes.empty() || kept.empty()) return predicted;
  std::vector<float> rows;
  for (const std::vector<int64_t>& slots : shapes) {
    for (int32_t config : kept) model_->features.append(config, slots.data(), &rows);
  }
  Matrix matrix;
  KAON_RETURN_IF_ERROR(matrix.create(rows, model_->features.num_columns()));
  bst_ulong count = 0;
  const float* values = nullptr;
  if (XGBoosterPredict(model_->booster, matrix.handle, 0, 0, 0, &count, &values) != 0) return xgb_error("prediction");
  if (count != shapes.size() * kept.size()) return Status(Code::kInternal, "xgboost: a prediction per row expected");
  for (size_t s = 0; s < shapes.size(); ++s) {
    PredictedShape shape;
    shape.slots = shapes[s];
    double fastest = std::numeric_limits<double>::infinity();
    std::vector<char> refused;
    for (size_t v = 0; v < kept.size(); ++v) {
      const std::vector<Guard>& guards = model_->table.configs[kept[v]].variant.guards;
      refused.push_back(first_refusing(model_->table.signature, guards, shapes[s].data()) >= 0);
      if (!refused[v]) fastest = std::min(fastest, static_cast<double>(values[s * kept.size() + v]));
    }
    for (size_t v = 0; v < kept.size(); ++v) {
      const double log_slowdown = values[s * kept.size() + v] - fastest;
      shape.slowdown_permille.push_back(
          refused[v] ? 0 : std::llround(1000 * std::exp(std::clamp(log_slowdown, 0.0, std::log(kLargestSlowdown)))));
    }
    predicted.push_back(std::move(shape));
  }
  return predicted;
}

}  // namespace kaon::heuristics
