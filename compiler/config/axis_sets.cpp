// Collecting the axes of values and accesses, and reading extents as linear forms.
#include "compiler/config/axis_sets.h"

#include <algorithm>
#include <map>

#include "compiler/ir/block_axis.h"
#include "compiler/ir/combine.h"
#include "compiler/ir/index_walk.h"
#include "compiler/ir/jagged.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {

namespace {

/// The roots of axes, each once.
std::vector<AxisId> real_axes(const AxisLinks& links, const std::vector<AxisId>& axes) {
  std::vector<AxisId> out;
  for (const AxisId axis : axes) {
    const AxisId root = links.root(axis);
    if (root != kUnitAxis && std::find(out.begin(), out.end(), root) == out.end()) out.push_back(root);
  }
  return out;
}

bool contains_all(const std::vector<AxisId>& outer, const std::vector<AxisId>& inner) {
  return std::all_of(inner.begin(), inner.end(),
                     [&](AxisId axis) { return std::find(outer.begin(), outer.end(), axis) != outer.end(); });
}

/// The root of the axis that walks the last dimension of an access by its coordinates, or kUnitAxis.
AxisId contiguous_axis(const AxisLinks& links, const Op& op) {
  const auto& index = op.index_attr("index");
  if (index.empty() || index.back().kind != Indexer::Kind::kAxis) return kUnitAxis;
  return links.root(index.back().axis);
}

/// The root of the axis whose neighbours read or write neighbours in memory, also through a tile of indices.
AxisId neighbour_axis(const Kernel& kernel, const AxisLinks& links, const std::vector<const Op*>& definitions,
                      const Op& op) {
  const auto& index = op.index_attr("index");
  if (index.empty() || index.back().kind != Indexer::Kind::kTile) return contiguous_axis(links, op);
  return links.root(unit_step_axis(kernel, definitions, op.operands[static_cast<size_t>(index.back().operand)]));
}

std::vector<AxisId> access_axes(const Kernel& kernel, const AxisLinks& links, const Op& op) {
  const ValueId tile = op.kind == OpKind::kLoad ? op.result() : op.operands[0];
  return real_axes(links, kernel.type(tile).axes);
}

/// Chooses the inner axis by vote: accesses of whole tiles of the set first, then any.
void choose_inner(const Kernel& kernel, AxisSet* set) {
  std::map<AxisId, int64_t> votes;
  const std::vector<const Op*> definitions = defining_ops(kernel);
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (!is_access(op.kind)) return;
    const std::vector<AxisId> axes = access_axes(kernel, *set->links, op);
    const AxisId axis = neighbour_axis(kernel, *set->links, definitions, op);
    if (axis == kUnitAxis || !contains_all(set->axes, axes)) return;
    votes[axis] += axes.size() == set->axes.size() ? 1000 : 1;
  });
  set->inner = set->axes.back();
  int64_t best = 0;
  for (auto axis = set->axes.rbegin(); axis != set->axes.rend(); ++axis) {
    const auto found = votes.find(*axis);
    if (found != votes.end() && found->second > best) {
      best = found->second;
      set->inner = *axis;
    }
  }
}

void measure_elements(const Kernel& kernel, AxisSet* set) {
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    for (const ValueId result : op.results) {
      if (!contains_all(real_axes(*set->links, kernel.type(result).axes), set->axes)) continue;
      set->widest_bytes = std::max(set->widest_bytes, static_cast<uint32_t>(dtype_bytes(kernel.type(result).dtype)));
    }
    if (op.kind != OpKind::kLoad && op.kind != OpKind::kStore) return;
    if (contiguous_axis(*set->links, op) != set->inner ||
        !contains_all(set->axes, access_axes(kernel, *set->links, op)))
      return;
    const auto& tensor = kernel.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))];
    const auto bytes = static_cast<uint32_t>(dtype_bytes(tensor.dtype));
    set->narrowest_bytes = set->narrowest_bytes == 0 ? bytes : std::min(set->narrowest_bytes, bytes);
  });
}

/// Lengths lie in one way, so all values along a jagged axis and its parents do: the sets that have them become one.
void merge_jagged(const Kernel& kernel, const AxisLinks& links, std::vector<std::vector<AxisId>>* sets) {
  for (AxisId axis = 0; axis < static_cast<AxisId>(kernel.axes.size()); ++axis) {
    std::vector<AxisId> wanted = real_axes(links, parents_of(kernel, axis));
    if (wanted.empty()) continue;
    wanted.push_back(links.root(axis));
    std::vector<AxisId>* first = nullptr;
    for (auto set = sets->begin(); set != sets->end();) {
      if (!contains_all(*set, wanted) || first == nullptr) {
        if (contains_all(*set, wanted)) first = &*set;
        ++set;
        continue;
      }
      for (AxisId other : *set) {
        if (!contains_all(*first, {other})) first->push_back(other);
      }
      set = sets->erase(set);
    }
  }
}

}  // namespace

std::vector<AxisSet> find_axis_sets(const Kernel& kernel) {
  const auto links = std::make_shared<const AxisLinks>(find_axis_links(kernel));
  std::vector<std::vector<AxisId>> found;
  auto add = [&](ValueId value) {
    std::vector<AxisId> axes = real_axes(*links, kernel.type(value).axes);
    if (axes.empty()) return;
    for (const auto& other : found) {
      if (contains_all(other, axes)) return;
    }
    found.erase(
        std::remove_if(found.begin(), found.end(), [&](const auto& other) { return contains_all(axes, other); }),
        found.end());
    found.push_back(std::move(axes));
  };
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    std::for_each(op.results.begin(), op.results.end(), add);
    for (const Region& region : op.regions) std::for_each(region.args.begin(), region.args.end(), add);
  });
  merge_jagged(kernel, *links, &found);
  std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.size() > b.size(); });
  std::vector<AxisSet> sets;
  for (auto& axes : found) {
    AxisSet set;
    set.axes = std::move(axes);
    set.links = links;
    choose_inner(kernel, &set);
    measure_elements(kernel, &set);
    sets.push_back(std::move(set));
  }
  return sets;
}

int home_set(const std::vector<AxisSet>& sets, const std::vector<AxisId>& axes) {
  if (sets.empty()) return -1;
  const std::vector<AxisId> real = real_axes(*sets[0].links, axes);
  if (real.empty()) return -1;
  for (size_t i = 0; i < sets.size(); ++i) {
    if (contains_all(sets[i].axes, real)) return static_cast<int>(i);
  }
  return -1;
}

namespace {

/// Adds or subtracts two forms; nothing when they read different slots or the sum falls with its slot.
std::optional<LinearExpr> add_forms(const LinearExpr& a, const LinearExpr& b, int64_t sign) {
  if (!a.is_constant() && !b.is_constant() && a.slot != b.slot) return std::nullopt;
  LinearExpr out{a.is_constant() ? b.slot : a.slot, a.scale + sign * b.scale, a.offset + sign * b.offset};
  if (out.scale < 0) return std::nullopt;
  if (out.scale == 0) out.slot = -1;
  return out;
}

std::optional<LinearExpr> multiply_forms(const LinearExpr& a, const LinearExpr& b) {
  const LinearExpr& form = a.is_constant() ? b : a;
  const LinearExpr& factor = a.is_constant() ? a : b;
  if (!factor.is_constant()) return std::nullopt;
  if (factor.offset < 0 && !form.is_constant()) return std::nullopt;
  if (factor.offset == 0) return LinearExpr{};
  return LinearExpr{form.slot, form.scale * factor.offset, form.offset * factor.offset};
}

}  // namespace

std::optional<LinearExpr> linear_form(const Expr& expr) {
  int64_t constant = 0;
  if (expr.is_constant(&constant)) return LinearExpr{-1, 0, constant};
  std::vector<LinearExpr> stack;
  for (const ExprStep& step : expr.steps()) {
    if (step.op == ExprOp::kConst) {
      stack.push_back({-1, 0, step.operand});
      continue;
    }
    if (step.op == ExprOp::kSlot) {
      stack.push_back({static_cast<int>(step.operand), 1, 0});
      continue;
    }
    if (stack.size() < 2) return std::nullopt;
    const LinearExpr b = stack.back();
    stack.pop_back();
    const LinearExpr a = stack.back();
    stack.pop_back();
    std::optional<LinearExpr> result;
    if (step.op == ExprOp::kAdd) result = add_forms(a, b, 1);
    if (step.op == ExprOp::kSub) result = add_forms(a, b, -1);
    if (step.op == ExprOp::kMul) result = multiply_forms(a, b);
    if (!result) return std::nullopt;
    stack.push_back(*result);
  }
  if (stack.size() != 1) return std::nullopt;
  return stack.back();
}

int64_t static_extent(const Axis& axis) {
  int64_t extent = 0;
  if (axis.kind == AxisKind::kTile || is_block(axis) || axis.extent_value != kNoValue) return 0;
  if (!axis.extent.is_constant(&extent) || extent < 1 || extent > kMaxStaticExtent) return 0;
  return extent;
}

bool is_carried(const Kernel& kernel, AxisId axis) {
  bool carried = false;
  const auto note = [&](ValueId value) {
    const auto& axes = kernel.type(value).axes;
    carried = carried || std::find(axes.begin(), axes.end(), axis) != axes.end();
  };
  walk(kernel.body, [&](const Op& op, const ConstOpPlace&) {
    if (op.regions.empty() || is_combining(op.kind)) return;
    std::for_each(op.results.begin(), op.results.end(), note);
    for (const Region& region : op.regions) std::for_each(region.args.begin(), region.args.end(), note);
  });
  return carried;
}

bool is_row_axis(const Axis& axis) {
  return axis.kind != AxisKind::kTile && !is_block(axis) && static_extent(axis) == 0;
}

}  // namespace kaon::compiler
