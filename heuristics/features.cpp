// Which integers describe a call, pruned to those that can tell the fitted shapes apart.
#include "heuristics/features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "heuristics/expr_text.h"
#include "heuristics/landmarks.h"

namespace kaon::heuristics {
namespace {

constexpr int64_t kRemainders[] = {8, 16};  // elements of a 16-byte vector of 2-byte and of 1-byte types

bool is_ignored(const Measurements& measurements, const std::string& dim) {
  const std::vector<std::string>& ignored = measurements.ignored_dims;
  return std::find(ignored.begin(), ignored.end(), dim) != ignored.end();
}

std::vector<TreeFeature> candidates(const Measurements& measurements, const Signature& signature) {
  std::vector<TreeFeature> features;
  std::vector<int> dims;
  for (int d = 0; d < static_cast<int>(signature.dims.size()); ++d) {
    if (!is_ignored(measurements, signature.dims[d])) dims.push_back(d);
  }
  auto dim = [&](int d) { return Expr::slot(signature.dim_slot(d)); };
  for (int d : dims) features.push_back({signature.dims[d], dim(d)});
  for (int s = 0; s < static_cast<int>(signature.scalars.size()); ++s) {
    if (!dtype_is_int(signature.scalars[s].dtype)) continue;
    features.push_back({signature.scalars[s].name, Expr::slot(signature.scalar_slot(s))});
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    for (size_t j = i + 1; j < dims.size(); ++j) {
      features.push_back({signature.dims[dims[i]] + "*" + signature.dims[dims[j]], dim(dims[i]) * dim(dims[j])});
    }
  }
  std::vector<int> inner = inner_dim_slots(signature);
  for (int d : dims) {
    if (std::find(inner.begin(), inner.end(), signature.dim_slot(d)) == inner.end()) continue;
    for (int64_t divisor : kRemainders) {
      features.push_back({signature.dims[d] + "%" + std::to_string(divisor), mod(dim(d), Expr(divisor))});
    }
  }
  for (const std::string& text : measurements.derived_features) {
    if (Result<Expr> parsed = parse_expr(text, signature); parsed.is_ok()) features.push_back({text, *parsed});
  }
  return features;
}

// For each shape, how many distinct values are smaller: equal vectors mean equal sets of possible splits.
std::vector<int> ranks(const std::vector<int64_t>& values) {
  std::set<int64_t> distinct(values.begin(), values.end());
  std::map<int64_t, int> rank;
  for (int64_t value : distinct) rank.emplace(value, static_cast<int>(rank.size()));
  std::vector<int> result;
  for (int64_t value : values) result.push_back(rank[value]);
  return result;
}

float log2_of(int64_t value) { return static_cast<float>(std::log2(static_cast<double>(std::max<int64_t>(value, 1)))); }

float log2_ratio(double a, double b) { return static_cast<float>(std::log2(std::max(a, 1e-3) / std::max(b, 1e-3))); }

// The exponent of the largest power of two that divides `value`, at most 7 (128 elements).
float two_adic(int64_t value) {
  int exponent = 0;
  while (exponent < 7 && value != 0 && value % 2 == 0) {
    value /= 2;
    ++exponent;
  }
  return static_cast<float>(exponent);
}

// Each knob gives two columns, the place of its word among the words seen and its number; absent is -1.
std::vector<std::vector<float>> encode_knobs(const Table& table) {
  std::set<std::string> knobs, words;
  for (const ConfigRow& row : table.configs) {
    for (const auto& [knob, text] : row.variant.config.values()) {
      knobs.insert(knob);
      if (Result<KnobValue> value = parse_knob_value(text); value.is_ok()) words.insert(value->word);
    }
  }
  std::vector<std::vector<float>> columns;
  for (const ConfigRow& row : table.configs) {
    std::vector<float> values;
    for (const std::string& knob : knobs) {
      const std::string* text = row.variant.config.find(knob);
      Result<KnobValue> value = parse_knob_value(text ? *text : "");
      const bool known = text != nullptr && value.is_ok();
      values.push_back(known ? static_cast<float>(std::distance(words.begin(), words.find(value->word))) : -1.0f);
      values.push_back(known ? static_cast<float>(value->argument) : -1.0f);
    }
    columns.push_back(std::move(values));
  }
  return columns;
}

}  // namespace

std::vector<int> inner_dim_slots(const Signature& signature) {
  std::set<int> slots;
  for (const TensorParam& tensor : signature.tensors) {
    if (tensor.extents.empty()) continue;
    for (const ExprStep& step : tensor.extents.back().steps()) {
      if (step.op == ExprOp::kSlot) slots.insert(static_cast<int>(step.operand));
    }
  }
  return {slots.begin(), slots.end()};
}

std::vector<int> size_slots(const Signature& signature) {
  std::vector<int> slots;
  for (int d = 0; d < static_cast<int>(signature.dims.size()); ++d) slots.push_back(signature.dim_slot(d));
  for (int s = 0; s < static_cast<int>(signature.scalars.size()); ++s) {
    if (dtype_is_int(signature.scalars[s].dtype)) slots.push_back(signature.scalar_slot(s));
  }
  return slots;
}

Vocabulary tree_vocabulary(const Measurements& measurements, const Table& table) {
  Vocabulary vocabulary;
  std::map<std::vector<int>, std::string> seen;
  for (TreeFeature& feature : candidates(measurements, table.signature)) {
    std::vector<int64_t> values;
    for (const Shape& shape : table.shapes) {
      if (shape.role != Role::kHeldOut) values.push_back(feature.value.evaluate(shape.slots.data()));
    }
    const bool constant = std::adjacent_find(values.begin(), values.end(), std::not_equal_to<>()) == values.end();
    if (constant) {
      std::string value = values.empty() ? "unknown" : std::to_string(values[0]);
      vocabulary.pruned.push_back({feature.name, "always " + value});
      continue;
    }
    auto [it, is_new] = seen.emplace(ranks(values), feature.name);
    if (!is_new) {
      vocabulary.pruned.push_back({feature.name, "orders the shapes as " + it->second + " does"});
      continue;
    }
    vocabulary.features.push_back(std::move(feature));
  }
  return vocabulary;
}

TeacherFeatures::TeacherFeatures(const DeviceFacts& device, const Table& table)
    : device_(device),
      table_(table),
      size_slots_(size_slots(table.signature)),
      inner_slots_(inner_dim_slots(table.signature)),
      knob_columns_(encode_knobs(table)) {
  std::vector<float> probe;
  std::vector<int64_t> slots(static_cast<size_t>(table.signature.num_slots()), 1);
  append(0, slots.data(), &probe);
  num_columns_ = static_cast<int>(probe.size());
}

void TeacherFeatures::append_plan(const VariantInfo& variant, const Resources& resources, const int64_t* slots,
                                  std::vector<float>* out) const {
  const double programs = static_cast<double>(std::max<int64_t>(variant.plan.programs.evaluate(slots), 0));
  const double threads = std::max<double>(variant.plan.threads, 1);
  const double at_once = std::max(device_.sm_count, 1) * resident_blocks(device_, variant, resources);
  const double waves = programs / at_once;
  out->push_back(log2_ratio(programs, std::max(device_.sm_count, 1)));
  out->push_back(log2_ratio(waves, 1));
  out->push_back(static_cast<float>(std::ceil(waves) > 0 ? waves / std::ceil(waves) : 0));
  out->push_back(static_cast<float>(threads));
  out->push_back(static_cast<float>(resources.registers));
  out->push_back(static_cast<float>(variant.plan.shared_bytes));
  double elements = 1;
  for (int slot : size_slots_) elements *= static_cast<double>(std::max<int64_t>(slots[slot], 1));
  out->push_back(log2_ratio(elements, programs * threads));
  const double step = threads * static_cast<double>(std::max<int64_t>(variant.config.get_int("vec", 1), 1));
  for (int slot : inner_slots_) {
    const double extent = static_cast<double>(std::max<int64_t>(slots[slot], 1));
    const double rounds = extent / step;
    out->push_back(log2_ratio(rounds, 1));
    out->push_back(static_cast<float>(rounds / std::ceil(rounds)));
  }
}

void TeacherFeatures::append(int config, const int64_t* slots, std::vector<float>* out) const {
  const ConfigRow& row = table_.configs[config];
  out->insert(out->end(), knob_columns_[config].begin(), knob_columns_[config].end());
  for (size_t i = 0; i < size_slots_.size(); ++i) {
    out->push_back(log2_of(slots[size_slots_[i]]));
    for (size_t j = i + 1; j < size_slots_.size(); ++j) {
      out->push_back(log2_of(slots[size_slots_[i]]) + log2_of(slots[size_slots_[j]]));
    }
  }
  for (int slot : inner_slots_) out->push_back(two_adic(slots[slot]));
  // How full each capacity is: where a config has none, 1/64 of a full one says "far from any cliff".
  for (int slot : size_slots_) {
    double capacity = 0;
    for (const Guard& guard : row.variant.guards) {
      if (guard.kind != GuardKind::kAtMost || guard.slot != slot) continue;
      capacity =
          capacity == 0 ? static_cast<double>(guard.value) : std::min(capacity, static_cast<double>(guard.value));
    }
    out->push_back(capacity > 0 ? log2_ratio(static_cast<double>(slots[slot]), capacity) : -6.0f);
  }
  append_plan(row.variant, row.resources, slots, out);
}

}  // namespace kaon::heuristics
