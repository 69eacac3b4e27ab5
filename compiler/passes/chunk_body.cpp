// Copying what a chunk needs, with scans that go on from chunk to chunk.
#include "compiler/passes/chunk_body.h"

#include <algorithm>
#include <string>
#include <utility>

#include "compiler/ir/combine.h"

namespace kaon::compiler {

bool ChunkBody::scans_axis(const Op& op) const {
  if (op.kind != OpKind::kScan) return false;
  return kernel_.type(op.operands[0]).axes[static_cast<size_t>(op.int_attr("dim"))] == context_.axis();
}

/// Scans that `value` needs, each behind those that it needs itself.
void ChunkBody::collect(ValueId value, std::vector<const Op*>* found, std::map<ValueId, bool>* seen) const {
  const Op* op = context_.is_along(value) ? context_.definition(value) : nullptr;
  if (op == nullptr || std::exchange((*seen)[value], true)) return;
  for (const ValueId operand : op->operands) collect(operand, found, seen);
  if (scans_axis(*op) && std::find(found->begin(), found->end(), op) == found->end()) found->push_back(op);
}

void ChunkBody::plan(const std::vector<ValueId>& values) {
  std::vector<const Op*> found;
  std::map<ValueId, bool> seen;
  for (const ValueId value : values) collect(value, &found, &seen);
  bool has_forward = false;
  for (const Op* op : found) has_forward = has_forward || op->int_attr("reverse") == 0;
  for (const Op* op : found) {
    Scan& scan = scans_.emplace_back();
    scan.op = op;
    scan.is_carried = op->int_attr("reverse") == 0 || !has_forward;
  }
}

bool ChunkBody::walks_back() const {
  return !scans_.empty() && scans_[0].is_carried && scans_[0].op->int_attr("reverse") != 0;
}

/// Zeros that a flag says not to count, in the layout of the scan's totals.
std::vector<ValueId> ChunkBody::nothing_yet(const Op& op) {
  const int64_t dim = op.int_attr("dim");
  std::vector<ValueId> out;
  for (size_t i = 0; i <= tuple_size(op); ++i) {
    const DType dtype = i < tuple_size(op) ? kernel_.type(op.operands[i]).dtype : DType::kBool;
    std::vector<AxisId> axes = here(kernel_.type(op.operands[0]).axes);
    axes[static_cast<size_t>(dim)] = kUnitAxis;
    const Layout layout = kernel_.layout(op.operands[0]).drop({dim});
    out.push_back(laid_out(builder_.int_const(dtype, 0, axes), layout));
  }
  return out;
}

std::vector<ValueId> ChunkBody::inits() {
  std::vector<ValueId> out;
  for (const Scan& scan : scans_) {
    if (!scan.is_carried) continue;
    const std::vector<ValueId> none = nothing_yet(*scan.op);
    out.insert(out.end(), none.begin(), none.end());
  }
  return out;
}

void ChunkBody::set_arguments(const std::vector<ValueId>& args) {
  size_t next = 0;
  for (Scan& scan : scans_) {
    for (size_t i = 0; scan.is_carried && i <= tuple_size(*scan.op); ++i) scan.carry.push_back(args[next++]);
  }
}

std::vector<ValueId> ChunkBody::yields() {
  std::vector<ValueId> out;
  for (Scan& scan : scans_) {
    if (!scan.is_carried) continue;
    copy(scan.op->results[0]);
    out.insert(out.end(), scan.behind.begin(), scan.behind.end());
  }
  return out;
}

std::vector<AxisId> ChunkBody::here(std::vector<AxisId> axes) const {
  std::replace(axes.begin(), axes.end(), context_.axis(), axis_);
  return axes;
}

ValueId ChunkBody::copy(ValueId value) {
  if (!context_.is_along(value)) return value;
  if (copies_.count(value) == 0) {
    const Op* op = context_.definition(value);
    const auto scan = std::find_if(scans_.begin(), scans_.end(), [&](const Scan& s) { return s.op == op; });
    scan == scans_.end() ? copy_op(*op) : copy_scan(&*scan);
  }
  return copies_[value];
}

void ChunkBody::copy_op(const Op& original) {
  std::vector<ValueId> operands;
  for (const ValueId operand : original.operands) operands.push_back(copy(operand));
  Op& op = builder_.insert(original.kind, std::move(operands));
  op.attrs = original.attrs;
  op.range = original.range;
  if (op.int_attr("axis", kUnitAxis) == context_.axis()) op.set_attr("axis", static_cast<int64_t>(axis_));
  if (op.find_attr("index") != nullptr) {
    std::vector<Indexer> index = op.index_attr("index");
    for (Indexer& indexer : index) {
      if (indexer.axis == context_.axis()) indexer.axis = axis_;
    }
    op.set_attr("index", std::move(index));
  }
  for (const Region& region : original.regions) op.regions.push_back(copy_combine(kernel_, region));
  for (const ValueId result : original.results) {
    const ValueInfo info = kernel_.values[static_cast<size_t>(result)];
    const ValueId copied = kernel_.new_value(Type{info.type.dtype, here(info.type.axes)}, info.name);
    kernel_.layout(copied) = info.layout;
    op.results.push_back(copied);
    copies_[result] = copied;
  }
}

/// The scan of this chunk with its totals, and both behind what was carried.
void ChunkBody::copy_scan(Scan* scan) {
  const Op& original = *scan->op;
  const Region& region = original.regions[0];
  const size_t size = tuple_size(original);
  copy_op(original);
  // Operands of the copy are made, so it is the op made last.
  Op& op = *builder_.region().ops[builder_.position() - 1];
  op.set_attr("totals", int64_t{1});
  const std::vector<ValueId> prefixes = op.results;
  const Layout layout = kernel_.layout(prefixes[0]);
  const std::vector<AxisId> axes = kernel_.type(prefixes[0]).axes;
  const int64_t dim = original.int_attr("dim");
  std::vector<AxisId> total_axes = axes;
  total_axes[static_cast<size_t>(dim)] = kUnitAxis;
  std::vector<ValueId> totals;
  for (size_t i = 0; i <= size; ++i) {
    const DType dtype = i < size ? kernel_.type(prefixes[i]).dtype : DType::kBool;
    totals.push_back(laid_out(kernel_.new_value(Type{dtype, total_axes}), layout.drop({dim})));
    op.results.push_back(totals.back());
  }
  if (!scan->is_carried) scan->carry = look_ahead(*scan);
  std::vector<ValueId> spread;
  for (const ValueId value : scan->carry) {
    spread.push_back(laid_out(builder_.broadcast(value, axes), layout));
  }
  const ValueId is_behind = spread.back();
  spread.pop_back();
  const std::vector<ValueId> combined = combine_tiles(builder_, region, spread, prefixes);
  for (size_t i = 0; i < size; ++i) {
    copies_[original.results[i]] = laid_out(builder_.select(is_behind, combined[i], prefixes[i]), layout);
  }
  std::vector<ValueId> carry = scan->carry, total = totals;
  const ValueId carry_flag = carry.back(), total_flag = total.back();
  carry.pop_back();
  total.pop_back();
  scan->behind = scan->is_looking ? combine_valid_tiles(builder_, region, total, total_flag, carry, carry_flag)
                                  : combine_valid_tiles(builder_, region, carry, carry_flag, total, total_flag);
}

/// What the chunks behind this one come to for a scan in reverse: a loop over them, from here to the end. Scans forward
/// that it needs go on in it from where they stand.
std::vector<ValueId> ChunkBody::look_ahead(const Scan& scan) {
  const std::string& name = kernel_.axis(context_.axis()).name;
  if (kernel_.config.get("shift." + name, "0") == "1" && status_) {
    status_ =
        Status(Code::kIllegalConfig, "shift." + name + "=1: " + name +
                                         " is scanned in both directions by chunks, whose windows must not shift");
  }
  const ValueId end = laid_out(builder_.axis_info(axis_, "end"), Layout({}, static_cast<uint32_t>(kernel_.num_warps)));
  Axis ahead = kernel_.axis(axis_);
  ahead.name += ".ahead" + std::to_string(kernel_.axes.size());
  ahead.begin_value = end;
  const AxisId axis = kernel_.new_axis(std::move(ahead));
  ChunkBody body(kernel_, context_, builder_, axis);
  body.plan(scan.op->results);
  const bool walks_back = body.walks_back();
  body.scans_.back().is_looking = !walks_back;
  body.scans_.back().is_carried = true;
  std::vector<ValueId> inits;
  for (const Scan& inner : body.scans_) {
    if (!inner.is_carried) continue;
    std::vector<ValueId> before;
    if (walks_back || inner.is_looking) {
      before = nothing_yet(*inner.op);
    } else {
      copy(inner.op->results[0]);
      const auto outer = std::find_if(scans_.begin(), scans_.end(), [&](const Scan& s) { return s.op == inner.op; });
      before = outer->behind;
    }
    inits.insert(inits.end(), before.begin(), before.end());
  }
  Op& loop = builder_.begin_loop(axis, inits);
  if (walks_back) loop.set_attr("reverse", int64_t{1});
  for (size_t i = 0; i < inits.size(); ++i) {
    kernel_.layout(loop.regions[0].args[i]) = kernel_.layout(inits[i]);
    kernel_.layout(loop.results[i]) = kernel_.layout(inits[i]);
  }
  // The scan itself comes last of those that it needs.
  const auto own = static_cast<ptrdiff_t>(tuple_size(*scan.op)) + 1;
  const std::vector<ValueId> results(loop.results.end() - own, loop.results.end());
  body.set_arguments(loop.regions[0].args);
  builder_.end(body.yields());
  if (!body.status_) status_ = body.status_;
  return results;
}

}  // namespace kaon::compiler
