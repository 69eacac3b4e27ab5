// How the lines of an explanation are made.
#include "runtime/launch/explain.h"

#include <algorithm>
#include <cstdio>

#include "runtime/base/guards.h"
#include "runtime/base/strides.h"
#include "runtime/base/text.h"
#include "runtime/launch/coverage.h"
#include "runtime/launch/known_devices.h"

namespace kaon {
namespace {

constexpr size_t kNearest = 3;
// The chips that other hardware's answers are given for.
constexpr int kOthers[] = {80, 86, 89, 90, 100, 103, 120, 121};

std::string percent(double share) {
  char text[32];
  snprintf(text, sizeof text, "%.1f %%", 100 * share);
  return text;
}

TableFit fit_of(const Question& q) {
  const int sm = hardware_sm(q.pack->hardware());
  return sm == q.facts.sm ? TableFit::kExact : sm < q.facts.sm ? TableFit::kOlder : TableFit::kGenericOnly;
}

// The choice of the leaf on a device: index into it, or -1 when nothing of the table runs there.
int choice(const Question& q, const std::vector<VariantFit>& fits, const std::vector<uint16_t>& leaf) {
  const bool is_generic_only = fit_of(q) == TableFit::kGenericOnly;
  if (missing_generic(*q.table, fits) != nullptr) return -1;
  for (size_t i = 0; i < leaf.size(); ++i) {
    if (is_generic_only && leaf[i] != leaf.back()) continue;
    const VariantInfo& info = q.table->variants[leaf[i]].info;
    if (fits[leaf[i]].image >= 0 && first_refusing(q.table->signature, info.guards, q.slots) < 0) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

std::string table_line(const Question& q) {
  const TableFit fit = fit_of(q);
  std::string text = cat("table ", q.pack->hardware());
  if (fit == TableFit::kOlder) text += ", tuned for older hardware: run aot_runner tune on this device";
  if (fit == TableFit::kGenericOnly) text += ", tuned for other hardware: only its generic variant counts here";
  append_to(&text, "\n  ", static_cast<int64_t>(q.table->shapes.size()), " shapes measured; ");
  const std::string outside = outside_text(*q.table, q.slots);
  const Match match = Coverage(*q.table).match(q.slots + q.table->signature.num_tensors());
  if (!outside.empty()) return cat(text, "out of range: ", outside, "\n");
  return cat(text, match == Match::kTuned ? "this shape is one of them\n" : "this shape lies between them\n");
}

// Product of the dims' ratios: twice a dim is as far as half of it, or as twice another one.
double distance(const std::vector<int64_t>& shape, const Question& q) {
  double product = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    if (q.table->ranges[i].is_ignored) continue;
    const int64_t value = q.slots[q.table->signature.dim_slot(static_cast<int>(i))];
    const double a = static_cast<double>(std::max<int64_t>(shape[i], 1));
    const double b = static_cast<double>(std::max<int64_t>(value, 1));
    product *= std::max(a, b) / std::min(a, b);
  }
  return product;
}

std::string nearest_line(const Question& q) {
  std::vector<const std::vector<int64_t>*> shapes;
  for (const std::vector<int64_t>& shape : q.table->shapes) shapes.push_back(&shape);
  std::stable_sort(shapes.begin(), shapes.end(),
                   [&](const auto* a, const auto* b) { return distance(*a, q) < distance(*b, q); });
  if (shapes.empty()) return "";
  std::string text = "  nearest measured:";
  for (size_t i = 0; i < std::min(kNearest, shapes.size()); ++i) {
    text += i == 0 ? " " : ", ";
    for (size_t d = 0; d < shapes[i]->size(); ++d) append_to(&text, d == 0 ? "" : "x", (*shapes[i])[d]);
  }
  return cat(text, "\n");
}

std::string path_lines(const Question& q, uint16_t* leaf) {
  const DecisionTree& tree = q.table->tree;
  std::string text = "path\n";
  uint16_t at = 0;
  while (tree.nodes[at].feature >= 0) {
    const TreeNode& node = tree.nodes[at];
    const TreeFeature& feature = tree.features[static_cast<size_t>(node.feature)];
    const int64_t value = feature.value.evaluate(q.slots);
    const bool is_left = value <= node.threshold;
    append_to(&text, "  ", feature.name, " <= ", node.threshold, "? ", feature.name, " is ", value,
              is_left ? ": yes\n" : ": no\n");
    at = is_left ? node.left : node.right;
  }
  *leaf = tree.nodes[at].leaf;
  return cat(text, "  leaf ", *leaf, ", ", tree.nodes[at].shapes, " measured shapes end here\n");
}

std::string title(const Question& q, uint16_t index) {
  return cat("variant ", index, " (", q.table->variants[index].info.config.to_text(), ")");
}

std::string image_text(const Question& q, const PackVariant& variant, int image) {
  std::string text = cat("image ", q.pack->images()[static_cast<size_t>(image)].target);
  for (const ImageRef& ref : variant.images) {
    if (static_cast<int>(ref.image) == image) append_to(&text, std::string(", "), image_trust_name(ref.trust));
  }
  return text;
}

std::string served_lines(const Question& q, uint16_t index, int image) {
  const PackVariant& variant = q.table->variants[index];
  const LaunchPlan& plan = variant.info.plan;
  std::string text =
      cat("    ", image_text(q, variant, image), "; ", std::max<int64_t>(plan.programs.evaluate(q.slots), 0),
          " blocks of ", plan.threads, " threads, ", plan.shared_bytes, " bytes of shared memory\n");
  const VariantEvidence& evidence = variant.evidence;
  if (evidence.shapes_served == 0) return cat(text, "    evidence: first choice of no measured shape\n");
  return cat(text, "    evidence: first choice of ", evidence.shapes_served, " measured shapes, at ",
             percent(evidence.geomean_of_oracle), " of the fastest config's speed, worst ",
             percent(evidence.worst_of_oracle), "\n");
}

std::string choice_lines(const Question& q, const std::vector<VariantFit>& fits, const std::vector<uint16_t>& leaf) {
  const int served = choice(q, fits, leaf);
  std::string text = "choices, best first\n";
  for (size_t i = 0; i < leaf.size(); ++i) {
    const uint16_t index = leaf[i];
    const VariantInfo& info = q.table->variants[index].info;
    const std::string guard = refusing_guard(q.table->signature, info.guards, q.slots);
    append_to(&text, "  ", title(q, index), ": ");
    if (fits[index].image < 0) {
      append_to(&text, fits[index].reason, "\n");
    } else if (fit_of(q) == TableFit::kGenericOnly && index != leaf.back()) {
      text += "was tuned for other hardware\n";
    } else if (!guard.empty()) {
      append_to(&text, guard, "\n");
    } else if (static_cast<int>(i) == served) {
      append_to(&text, "serves; its guards: ", guards_text(q.table->signature, info.guards), "\n",
                served_lines(q, index, fits[index].image));
    } else {
      text += served < 0 ? "would run\n" : "would do as well\n";
    }
  }
  if (served < 0) text += "  nothing of this table runs here\n";
  return text;
}

std::string other_lines(const Question& q, const std::vector<uint16_t>& leaf) {
  std::string text = "this table elsewhere\n";
  for (int sm : kOthers) {
    if (sm == q.facts.sm || q.facts.sm == 0) continue;
    Question other = q;
    other.facts = *known_device(sm);
    const std::vector<VariantFit> fits = fit_variants(*q.table, *q.pack, other.facts, q.ptx);
    const int served = choice(other, fits, leaf);
    append_to(&text, "  sm_", sm, ": ");
    if (served < 0) {
      const VariantFit* missing = missing_generic(*q.table, fits);
      append_to(
          &text,
          missing != nullptr ? cat("generic variant ", missing->reason) : "no variant was compiled for this value",
          "\n");
      continue;
    }
    const uint16_t index = leaf[static_cast<size_t>(served)];
    append_to(&text, title(q, index), ", ", image_text(q, q.table->variants[index], fits[index].image), "\n");
  }
  return q.facts.sm == 0 ? "" : text;
}

}  // namespace

std::string explain_choice(const Question& q) {
  const Signature& signature = q.table->signature;
  std::string text = cat(signature.kernel, q.table->dtype_key.empty() ? "" : cat(" ", q.table->dtype_key), " with ",
                         dims_text(signature, q.slots), " on ", q.facts.name, " (", q.facts.hardware, ")\n");
  const std::vector<VariantFit> fits = fit_variants(*q.table, *q.pack, q.facts, q.ptx);
  uint16_t leaf = 0;
  text += table_line(q) + nearest_line(q) + path_lines(q, &leaf);
  const std::vector<uint16_t>& ranked = q.table->tree.leaves[leaf];
  return text + choice_lines(q, fits, ranked) + other_lines(q, ranked);
}

void dense_slots(const Signature& signature, const int64_t* dims, int64_t* slots) {
  constexpr int64_t kApart = int64_t{1} << 45;
  std::fill(slots, slots + signature.num_slots(), 0);
  for (size_t i = 0; i < signature.dims.size(); ++i) slots[signature.dim_slot(static_cast<int>(i))] = dims[i];
  for (int i = 0; i < signature.num_tensors(); ++i) {
    const std::vector<Expr>& extents = signature.tensors[static_cast<size_t>(i)].extents;
    slots[signature.pointer_slot(i)] = kApart * (i + 1);
    int64_t stride = 1;
    for (int axis = static_cast<int>(extents.size()) - 1; axis >= 0; --axis) {
      const int64_t extent = extents[static_cast<size_t>(axis)].evaluate(slots);
      // As a call does for axes of one element, which have no stride.
      const bool has_stride = extent > 1 || axis + 1 == static_cast<int>(extents.size());
      slots[signature.stride_slot(i, axis)] = has_stride ? stride : 0;
      stride = outer_stride(stride, extent);
    }
  }
}

}  // namespace kaon
