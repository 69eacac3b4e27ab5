// The names of roles and failures, rows of slots, and what makes a measurement table sound.
#include "heuristics/table.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "heuristics/expr_text.h"
#include "runtime/base/generic.h"
#include "runtime/base/guards.h"
#include "runtime/base/strides.h"

namespace kaon::heuristics {
namespace {

constexpr const char* kRoleNames[] = {"train", "measure", "held_out"};
constexpr const char* kFailureNames[] = {"compile", "wrong_result", "timeout", "fault", "resources", "other"};

template <typename E, size_t n>
bool parse_name(const char* const (&names)[n], std::string_view name, E* out) {
  for (size_t i = 0; i < n; ++i) {
    if (name == names[i]) {
      *out = static_cast<E>(i);
      return true;
    }
  }
  return false;
}

Status bad(const std::string& where, const std::string& what) { return {Code::kInvalidArgument, where + ": " + what}; }

std::string place(const Table& table, int config, int shape) {
  return "config " + std::to_string(config) + " (" + table.configs[config].variant.config.to_text() + "), shape " +
         std::to_string(shape) + " (" + shape_text(table.signature, table.shapes[shape].slots) + ")";
}

Status check_shapes(const Table& table, const std::string& where) {
  std::set<std::vector<int64_t>> seen;
  const size_t num_slots = static_cast<size_t>(table.signature.num_slots());
  for (int s = 0; s < table.num_shapes(); ++s) {
    const Shape& shape = table.shapes[s];
    std::string here = where + ", shape " + std::to_string(s);
    if (shape.slots.size() != num_slots) {
      return bad(here, "has " + std::to_string(shape.slots.size()) + " slots, expected " + std::to_string(num_slots));
    }
    if (!std::isfinite(shape.weight) || shape.weight <= 0) return bad(here, "weight must be positive and finite");
    if (!seen.insert(shape.slots).second) {
      return bad(here, shape_text(table.signature, shape.slots) + " is listed twice");
    }
  }
  return Status::ok();
}

Status check_variant(const Table& table, const VariantInfo& variant, const std::string& here) {
  const int num_slots = table.signature.num_slots();
  for (const Guard& guard : variant.guards) {
    const int limit = guard.kind == GuardKind::kSpanAtMost ? table.signature.num_tensors() : num_slots;
    if (guard.kind > GuardKind::kSpanAtMost || guard.slot >= limit || guard.other >= num_slots) {
      return bad(here, "a guard names slot " + std::to_string(guard.slot) + " of " + std::to_string(limit));
    }
    const bool divides = guard.kind == GuardKind::kDivisible || guard.kind == GuardKind::kCongruent;
    if (divides && guard.value <= 0) {
      return bad(here, "a guard divides by " + std::to_string(guard.value) + ", expected at least 1");
    }
  }
  if (Status status = kaon::validate(variant.plan.programs.view(), num_slots); !status.is_ok()) {
    return bad(here, "launch plan: " + status.message());
  }
  if (variant.symbol.empty()) return bad(here, "has no symbol");
  return Status::ok();
}

Status check_configs(const Table& table, const std::string& where) {
  if (table.configs.empty()) return bad(where, "has no configs");
  const int n = table.num_configs();
  for (int special : {table.generic_config, table.default_config}) {
    if (special < 0 || special >= n) {
      return bad(where,
                 "generic or default config " + std::to_string(special) + ", expected one below " + std::to_string(n));
    }
  }
  std::set<Config> seen;
  for (int c = 0; c < n; ++c) {
    const VariantInfo& variant = table.configs[c].variant;
    std::string here = where + ", config " + std::to_string(c);
    KAON_RETURN_IF_ERROR(check_variant(table, variant, here));
    if (!seen.insert(variant.config).second) return bad(here, variant.config.to_text() + " is listed twice");
  }
  const std::vector<Guard>& generic = table.configs[table.generic_config].variant.guards;
  if (!only_fix_dims(table.signature, generic)) {
    return bad(where, "the generic config has guards (" + guards_text(table.signature, generic) +
                          "); it must accept every legal call");
  }
  for (int s = 0; s < table.num_shapes(); ++s) {
    const std::string why = refusing_guard(table.signature, generic, table.shapes[s].slots.data());
    if (!why.empty()) return bad(where, "the generic config refuses shape " + std::to_string(s) + ": " + why);
  }
  return Status::ok();
}

Status check_cell(const Table& table, int pass, int c, int s) {
  const Cell& cell = table.cell(pass, c, s);
  if (cell.median_ns < 0 || cell.mad_permille < 0 || cell.samples < 0) {
    return bad(place(table, c, s), "a time, deviation or count is negative");
  }
  if (cell.failure < -1 || cell.failure >= static_cast<int>(table.failures.size())) {
    return bad(place(table, c, s),
               "names failure " + std::to_string(cell.failure) + " of " + std::to_string(table.failures.size()));
  }
  if (cell.measured() && cell.failed()) return bad(place(table, c, s), "is both measured and failed");
  if (cell.measured() &&
      first_refusing(table.signature, table.configs[c].variant.guards, table.shapes[s].slots.data()) >= 0) {
    return bad(place(table, c, s), "was measured although its guards refuse the shape (" +
                                       guards_text(table.signature, table.configs[c].variant.guards) + ")");
  }
  return Status::ok();
}

Status check_cells(const Table& table, const std::string& where) {
  if (table.passes.empty()) return bad(where, "has no pass of measurements");
  const size_t cells = static_cast<size_t>(table.num_configs()) * table.num_shapes();
  for (int p = 0; p < table.num_passes(); ++p) {
    if (table.passes[p].size() != cells) {
      return bad(where, "pass " + std::to_string(p) + " has " + std::to_string(table.passes[p].size()) +
                            " cells, expected " + std::to_string(cells));
    }
    for (int c = 0; c < table.num_configs(); ++c) {
      for (int s = 0; s < table.num_shapes(); ++s) {
        if (Status status = check_cell(table, p, c, s); !status.is_ok()) return bad(where, status.message());
      }
    }
  }
  return Status::ok();
}

}  // namespace

const char* role_name(Role role) { return kRoleNames[static_cast<int>(role)]; }
bool parse_role(std::string_view name, Role* out) { return parse_name(kRoleNames, name, out); }
const char* failure_name(FailureKind kind) { return kFailureNames[static_cast<int>(kind)]; }
bool parse_failure(std::string_view name, FailureKind* out) { return parse_name(kFailureNames, name, out); }

std::vector<std::pair<int, int64_t>> Table::specialised_values() const {
  std::vector<std::pair<int, int64_t>> values;
  for (const Guard& guard : configs[generic_config].variant.guards) values.emplace_back(guard.slot, guard.value);
  std::sort(values.begin(), values.end());
  return values;
}

std::string Table::key() const {
  std::string key = dtype_key();
  for (const auto& [slot, value] : specialised_values()) {
    key += (key.empty() ? "" : " ") + signature.slot_names()[static_cast<size_t>(slot)] + "=" + std::to_string(value);
  }
  return key;
}

int Table::add_failure(FailureKind kind, const std::string& message) {
  Failure failure{kind, message};
  for (size_t i = 0; i < failures.size(); ++i) {
    if (failures[i] == failure) return static_cast<int>(i);
  }
  failures.push_back(std::move(failure));
  return static_cast<int>(failures.size()) - 1;
}

int Table::add_pass() {
  passes.emplace_back(static_cast<size_t>(num_configs()) * num_shapes());
  return num_passes() - 1;
}

std::string shape_text(const Signature& signature, const std::vector<int64_t>& slots) {
  std::string text;
  auto append = [&](const std::string& name, int slot) {
    if (!text.empty()) text += ' ';
    text += name + "=" + std::to_string(slots[slot]);
  };
  for (size_t d = 0; d < signature.dims.size(); ++d) append(signature.dims[d], signature.dim_slot(static_cast<int>(d)));
  for (size_t i = 0; i < signature.scalars.size(); ++i) {
    if (dtype_is_int(signature.scalars[i].dtype)) {
      append(signature.scalars[i].name, signature.scalar_slot(static_cast<int>(i)));
    }
  }
  return text;
}

std::vector<int64_t> contiguous_slots(const Signature& signature, const std::vector<int64_t>& dims,
                                      const std::vector<int64_t>& scalars) {
  std::vector<int64_t> slots(signature.num_slots(), 0);
  for (size_t d = 0; d < dims.size(); ++d) slots[signature.dim_slot(static_cast<int>(d))] = dims[d];
  for (size_t i = 0; i < scalars.size(); ++i) slots[signature.scalar_slot(static_cast<int>(i))] = scalars[i];
  for (int t = 0; t < signature.num_tensors(); ++t) {
    int64_t stride = 1;
    const std::vector<Expr>& extents = signature.tensors[t].extents;
    for (int axis = static_cast<int>(extents.size()) - 1; axis >= 0; --axis) {
      slots[signature.stride_slot(t, axis)] = stride;
      stride = outer_stride(stride, extents[axis].evaluate(slots.data()));
    }
  }
  return slots;
}

Status validate(const Measurements& measurements) {
  if (measurements.kernel.empty()) return bad("measurements", "the kernel has no name");
  if (measurements.device.hardware.empty()) return bad("measurements", "the device has no hardware name");
  if (measurements.noise_floor_permille < 0 || measurements.noise_floor_ns < 0 || measurements.empty_graph_ns < 0) {
    return bad("measurements", "the noise floors and the empty graph's time must not be negative");
  }
  if (measurements.tables.empty()) return bad("measurements", "there is no table");
  std::set<std::string> keys;
  for (const Table& table : measurements.tables) {
    std::string where = "table \"" + table.dtype_key() + "\"";
    if (table.signature.num_slots() > kMaxSlots) return bad(where, "the signature has too many slots");
    KAON_RETURN_IF_ERROR(check_shapes(table, where));
    KAON_RETURN_IF_ERROR(check_configs(table, where));
    if (!keys.insert(table.key()).second) return bad("table \"" + table.key() + "\"", "is there twice");
    KAON_RETURN_IF_ERROR(check_cells(table, where));
    for (const std::string& text : measurements.derived_features) {
      if (Result<Expr> parsed = parse_expr(text, table.signature); !parsed.is_ok()) return parsed.status();
    }
    for (const std::string& dim : measurements.ignored_dims) {
      if (table.signature.find_dim(dim) < 0) return bad(where, "ignored dim " + dim + " is none of the kernel's dims");
    }
  }
  return Status::ok();
}

}  // namespace kaon::heuristics
