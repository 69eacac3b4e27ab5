#include "aot_runner/report/summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "aot_runner/spec/shape.h"
#include "heuristics/report.h"
#include "runtime/base/guards.h"

namespace kaon::runner {
namespace {

using heuristics::DistilledTable;
using heuristics::Measurements;

const heuristics::ConfigRow& config_row(const Measurements& m, const DistilledTable& table, int variant) {
  const int32_t config = table.variants[static_cast<size_t>(variant)].config;
  return m.tables[static_cast<size_t>(table.table)].configs[static_cast<size_t>(config)];
}

void add_node(const Measurements& m, const DistilledTable& table, int node, int depth, std::string* out) {
  const TreeNode& n = table.tree.nodes[static_cast<size_t>(node)];
  const std::string indent(static_cast<size_t>(2 * depth + 2), ' ');
  if (n.feature < 0) {
    const std::vector<uint16_t>& ranked = table.tree.leaves[n.leaf];
    std::vector<int> rest;
    for (size_t i = 1; i < ranked.size(); ++i) rest.push_back(table.first_variant + ranked[i]);
    *out += fmt::format(
        "{}variant {}: {}{}  [{} shapes]\n", indent, table.first_variant + ranked[0],
        config_row(m, table, ranked[0]).variant.config.to_text(),
        rest.empty() ? std::string() : fmt::format("; where a guard refuses: {}", fmt::join(rest, ", ")), n.shapes);
    return;
  }
  const std::string& name = table.tree.features[static_cast<size_t>(n.feature)].name;
  *out += fmt::format("{}if {} <= {}  [{} shapes]\n", indent, name, n.threshold, n.shapes);
  add_node(m, table, n.left, depth + 1, out);
  *out += fmt::format("{}else\n", indent);
  add_node(m, table, n.right, depth + 1, out);
}

std::string binding_title(const Measurements& m, const DistilledTable& table) {
  return table.dtypes.empty() ? m.kernel : m.kernel + " " + table.dtypes;
}

std::vector<int64_t> dims_of(const Signature& signature, const std::vector<int64_t>& slots) {
  std::vector<int64_t> dims;
  for (size_t d = 0; d < signature.dims.size(); ++d)
    dims.push_back(slots[static_cast<size_t>(signature.dim_slot(static_cast<int>(d)))]);
  return dims;
}

/// Walks the tree and says each comparison.
const TreeNode* walk(const DecisionTree& tree, const int64_t* slots, std::string* out) {
  const TreeNode* node = &tree.nodes[0];
  while (node->feature >= 0) {
    const TreeFeature& feature = tree.features[static_cast<size_t>(node->feature)];
    const int64_t value = feature.value.evaluate(slots);
    const bool left = value <= node->threshold;
    *out += fmt::format("  {} = {} {} {}\n", feature.name, value, left ? "<=" : ">", node->threshold);
    node = &tree.nodes[left ? node->left : node->right];
  }
  return node;
}

/// The fitted shape nearest to the call, by logarithms of the dims.
int nearest_shape(const heuristics::Table& table, const std::vector<int64_t>& dims) {
  int best = -1;
  double nearest = std::numeric_limits<double>::infinity();
  for (int s = 0; s < table.num_shapes(); ++s) {
    const double distance = log_distance(dims, dims_of(table.signature, table.shapes[static_cast<size_t>(s)].slots));
    if (distance < nearest) {
      nearest = distance;
      best = s;
    }
  }
  return best;
}

std::string rivals_text(const Measurements& m, const DistilledTable& kept, const std::vector<int64_t>& dims) {
  const heuristics::Table& table = m.tables[static_cast<size_t>(kept.table)];
  const int shape = nearest_shape(table, dims);
  if (shape < 0 || table.num_passes() == 0) return "";
  const heuristics::Shape& measured = table.shapes[static_cast<size_t>(shape)];
  std::string out =
      fmt::format("nearest measured shape: {} ({})\n", heuristics::shape_text(table.signature, measured.slots),
                  heuristics::role_name(measured.role));
  std::vector<std::pair<int64_t, int>> times;
  for (size_t v = 0; v < kept.variants.size(); ++v) {
    const heuristics::Cell& cell = table.cell(0, kept.variants[v].config, shape);
    if (cell.measured()) times.emplace_back(cell.median_ns, static_cast<int>(v));
  }
  std::sort(times.begin(), times.end());
  for (const auto& [ns, variant] : times) {
    out += fmt::format("  {:10.3f} us  variant {}: {}\n", static_cast<double>(ns) / 1000, kept.first_variant + variant,
                       config_row(m, kept, variant).variant.config.to_text());
  }
  return out;
}

}  // namespace

std::string tree_text(const Measurements& measurements, const DistilledTable& table) {
  std::string out = fmt::format("tree of {}:\n", binding_title(measurements, table));
  add_node(measurements, table, 0, 0, &out);
  return out;
}

std::string report_text(const Measurements& measurements, const heuristics::Distilled& distilled) {
  std::string out = heuristics::summary_text(measurements, distilled);
  if (!out.empty() && out.back() != '\n') out += '\n';
  for (const DistilledTable& table : distilled.tables) {
    out += "\n" + tree_text(measurements, table);
    if (!table.teacher_note.empty()) out += fmt::format("  teacher: {}\n", table.teacher_note);
  }
  return out;
}

Result<std::string> explain_text(const Measurements& measurements, const heuristics::Distilled& distilled,
                                 const std::string& dtypes, const std::vector<int64_t>& dims) {
  std::vector<std::string> known;
  for (const DistilledTable& kept : distilled.tables) {
    const std::string key = measurements.tables[static_cast<size_t>(kept.table)].dtype_key();
    if (std::find(known.begin(), known.end(), key) == known.end()) known.push_back(key);
  }
  std::string refusals;
  for (const DistilledTable& kept : distilled.tables) {
    const heuristics::Table& table = measurements.tables[static_cast<size_t>(kept.table)];
    if (table.dtype_key() != dtypes && !(dtypes.empty() && known.size() == 1)) continue;
    if (dims.size() != table.signature.dims.size()) {
      return Status(Code::kInvalidArgument,
                    fmt::format("the shape has {} dims, expected {} ({})", dims.size(), table.signature.dims.size(),
                                fmt::join(table.signature.dims, ", ")));
    }
    const std::vector<int64_t> scalars(table.signature.scalars.size(), 1);
    const std::vector<int64_t> slots = heuristics::contiguous_slots(table.signature, dims, scalars);
    const heuristics::ConfigRow& generic = table.configs[static_cast<size_t>(table.generic_config)];
    const std::string refusal = refusing_guard(table.signature, generic.variant.guards, slots.data());
    if (!refusal.empty()) {
      refusals += (refusals.empty() ? "" : "; ") + refusal;
      continue;
    }
    std::string out = fmt::format("{} at {} on {} ({}):\n", binding_title(measurements, kept),
                                  heuristics::shape_text(table.signature, slots), measurements.device.name,
                                  measurements.device.hardware);
    const TreeNode* leaf = walk(kept.tree, slots.data(), &out);
    for (const uint16_t variant : kept.tree.leaves[leaf->leaf]) {
      const heuristics::ConfigRow& row = config_row(measurements, kept, variant);
      const int refusing = first_refusing(table.signature, row.variant.guards, slots.data());
      if (refusing >= 0) {
        out += fmt::format("  variant {} refused: needs {}\n", kept.first_variant + variant,
                           guard_text(table.signature, row.variant.guards[static_cast<size_t>(refusing)]));
        continue;
      }
      const heuristics::VariantEvidence& evidence = kept.variants[variant];
      out += fmt::format("-> variant {}: {}\n", kept.first_variant + variant, row.variant.config.to_text());
      out += fmt::format("   guards: {}\n", guards_text(table.signature, row.variant.guards));
      out += fmt::format("   {} registers, {} B shared memory, {} threads\n", row.resources.registers,
                         row.variant.plan.shared_bytes, row.variant.plan.threads);
      out += fmt::format("   serves {} measured shapes at {:.3f} of the oracle on average, {:.3f} at worst\n",
                         evidence.shapes_served, evidence.shapes_served > 0 ? 1 / evidence.geomean_slowdown : 0.0,
                         evidence.shapes_served > 0 ? 1 / evidence.worst_slowdown : 0.0);
      break;
    }
    return out + rivals_text(measurements, kept, dims);
  }
  if (!refusals.empty()) return Status(Code::kValueNotCompiled, "no variant was compiled for this shape: " + refusals);
  return Status(Code::kNotFound,
                fmt::format("no table for dtypes '{}'; there are {}", dtypes, fmt::join(known, " | ")));
}

}  // namespace kaon::runner
