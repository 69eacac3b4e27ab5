// Phases of rows, and the origin that aligns them.
#include "compiler/passes/shift_window.h"

#include <algorithm>

#include "compiler/config/axis_sets.h"
#include "compiler/config/row_versions.h"
#include "compiler/ir/builder.h"
#include "compiler/ir/walk.h"
#include "compiler/passes/guards.h"

namespace kaon::compiler {

ShiftWindow::ShiftWindow(Kernel& kernel) : kernel_(kernel), vec_(kernel.config.get_int("vec", 1)) {
  for (size_t i = 0; i < kernel.axes.size(); ++i) {
    if (kernel.config.get("shift." + knob_axis(kernel.axes[i]), "0") == "1") shifted_.insert(static_cast<AxisId>(i));
  }
}

/// The origin is computed before anything else, so only what the grid fixes may address a row.
bool ShiftWindow::rows_by_grid(const Op& op) const {
  const Op& grid = *kernel_.body.ops.back();
  const auto& axes = grid.ints_attr("axes");
  const auto& index = op.index_attr("index");
  return std::all_of(index.begin(), index.end() - 1, [&](const Indexer& indexer) {
    return indexer.kind == Indexer::Kind::kAxis && indexer.operand < 0 &&
           std::find(axes.begin(), axes.end(), indexer.axis) != axes.end();
  });
}

bool ShiftWindow::admit(const Op& op, const AccessFacts& facts) {
  const auto& index = op.index_attr("index");
  if (index.back().operand >= 0 || !rows_by_grid(op)) return false;
  const std::vector<Indexer> rows(index.begin(), index.end() - 1);
  const auto last = static_cast<int>(rows.size());
  const auto unit = static_cast<uint16_t>(kernel_.signature.stride_slot(facts.tensor, last));
  const auto found = references_.find(facts.axis);
  if (found == references_.end()) {
    references_[facts.axis] = {facts.tensor, rows, {}, facts.tile, facts.dim};
  } else {
    if (found->second.rows != rows) return false;
    require_same_phase(found->second, facts.tensor);
  }
  add_guard(kernel_, {GuardKind::kEqual, unit, 0, 1});
  return true;
}

void ShiftWindow::require_same_phase(const Reference& reference, int tensor) {
  if (tensor == reference.tensor) return;
  const Signature& signature = kernel_.signature;
  const auto bytes = [&](int t) {
    return static_cast<int64_t>(dtype_bytes(signature.tensors[static_cast<size_t>(t)].dtype));
  };
  const auto slot = [](int s) { return static_cast<uint16_t>(s); };
  if (bytes(tensor) == bytes(reference.tensor)) {
    add_guard(kernel_, {GuardKind::kCongruent, slot(signature.pointer_slot(tensor)),
                        slot(signature.pointer_slot(reference.tensor)), vec_ * bytes(tensor)});
  } else {
    for (const int t : {tensor, reference.tensor}) {
      add_guard(kernel_, {GuardKind::kDivisible, slot(signature.pointer_slot(t)), 0, vec_ * bytes(t)});
    }
  }
  for (size_t dim = 0; dim < reference.rows.size(); ++dim) {
    const int d = static_cast<int>(dim);
    add_guard(kernel_, {GuardKind::kCongruent, slot(signature.stride_slot(tensor, d)),
                        slot(signature.stride_slot(reference.tensor, d)), vec_});
  }
}

/// origin = (address of the row in elements) mod vec, for every row of the tile.
void ShiftWindow::insert_origin(AxisId axis, const Reference& reference) {
  Region& program = kernel_.body.ops.back()->regions[0];
  Builder b(kernel_, program, 0);
  const Signature& signature = kernel_.signature;
  std::vector<AxisId> axes = kernel_.type(reference.tile).axes;
  axes.erase(axes.begin() + reference.dim);
  const Layout rows = kernel_.layout(reference.tile).drop({reference.dim}).squeeze(reference.dim);
  const Layout scalar({}, static_cast<uint32_t>(kernel_.num_warps));
  auto with = [&](ValueId value, const Layout& layout) {
    kernel_.layout(value) = layout;
    return value;
  };
  /// A scalar or an index over one axis of the rows, spread over all of them.
  auto spread = [&](ValueId value) {
    std::vector<AxisId> have = kernel_.type(value).axes;
    Layout layout = kernel_.layout(value);
    for (size_t i = 0; i < axes.size(); ++i) {
      if (i < have.size() && have[i] == axes[i]) continue;
      layout = layout.expand_dims(static_cast<int>(i));
      value = with(b.expand_dims(value, static_cast<int>(i)), layout);
      have.insert(have.begin() + static_cast<ptrdiff_t>(i), kUnitAxis);
    }
    return kernel_.type(value).axes == axes ? value : with(b.broadcast(value, axes), rows);
  };
  const int64_t bytes = dtype_bytes(signature.tensors[static_cast<size_t>(reference.tensor)].dtype);
  const Expr start = floor_div(Expr::slot(signature.pointer_slot(reference.tensor)), Expr(bytes));
  ValueId sum = spread(with(b.expr(mod(start, Expr(vec_))), scalar));
  for (size_t dim = 0; dim < reference.rows.size(); ++dim) {
    const AxisId row = reference.rows[dim].axis;
    const auto at = static_cast<int64_t>(std::find(axes.begin(), axes.end(), row) - axes.begin());
    std::vector<int64_t> others;
    for (int64_t i = 0; i < static_cast<int64_t>(axes.size()); ++i) {
      if (i != at) others.push_back(i);
    }
    Layout own = rows.drop(others);
    for (auto other = others.rbegin(); other != others.rend(); ++other) own = own.squeeze(static_cast<int>(*other));
    const ValueId coordinate = spread(with(b.index(row), own));
    const Expr stride = Expr::slot(signature.stride_slot(reference.tensor, static_cast<int>(dim)));
    const ValueId step = spread(with(b.expr(mod(stride, Expr(vec_))), scalar));
    sum = with(b.binary(BinaryFn::kAdd, sum, with(b.binary(BinaryFn::kMul, coordinate, step), rows)), rows);
  }
  const ValueId period = with(b.int_const(DType::kI64, vec_, axes), rows);
  kernel_.axis(axis).origin = with(b.binary(BinaryFn::kMod, sum, period), rows);
}

Status ShiftWindow::finish() {
  for (const auto& [axis, reference] : references_) {
    insert_origin(axis, reference);
    const AxisId shifted = axis;
    walk(kernel_.body, [&](Op& op, const OpPlace&) {
      if (op.kind == OpKind::kLoop && op.int_attr("axis") == shifted) op.set_attr("extra", vec_ - 1);
    });
  }
  return Status::ok();
}

}  // namespace kaon::compiler
