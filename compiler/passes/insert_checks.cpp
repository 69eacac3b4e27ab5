// Asserts on indices, and where they stand.
#include "compiler/passes/insert_checks.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
#include "compiler/ir/choices.h"
#include "compiler/ir/type_rules.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

class Checker {
 public:
  Checker(Kernel& kernel, const SourceFile* source) : kernel_(kernel), source_(source) {}

  Status run() {
    definitions_ = defining_ops(std::as_const(kernel_));
    region(kernel_.body);
    return status_;
  }

 private:
  void region(Region& region) {
    for (size_t i = 0; i < region.ops.size(); ++i) {
      Op& op = *region.ops[i];
      for (Region& inner : op.regions) this->region(inner);
      if (op.kind == OpKind::kAssert) {
        const std::string text = op.str_attr("message");
        set_message(op, "assert failed" + (text.empty() ? "" : ": " + text));
      }
      if (is_access(op.kind)) i = check(region, i);
    }
  }

  /// Gives an assert its text, which begins with its place.
  void set_message(Op& check, const std::string& text) const {
    if (source_ == nullptr || !check.range.is_known()) return check.set_attr("message", text);
    const LineColumn at = source_->line_column(check.range.begin);
    check.set_attr("message",
                   source_->name() + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": " + text);
    check.set_attr("file", source_->name());
    check.set_attr("line", int64_t{at.line});
  }

  /// Checks of the access at `position`; returns where it stands then.
  size_t check(Region& region, size_t position) {
    const Op& op = *region.ops[position];
    const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))];
    const std::vector<Indexer> index = op.index_attr("index");
    Builder builder(kernel_, region, position);
    builder.set_range(op.range);
    for (size_t dim = 0; dim < index.size(); ++dim) {
      if (is_known_inside(op, index[dim], param.extents[dim])) continue;
      const ValueId inside = is_inside(builder, coordinates(builder, op, index[dim]), param.extents[dim]);
      Op& check = builder.insert(OpKind::kAssert, {spread(builder, op, inside)});
      set_message(check, subject(index[dim]) + ": dimension " + std::to_string(dim) + " of " + param.name +
                             ", which has extent " + param.extents[dim].to_string(kernel_.signature.slot_names()));
    }
    if (!builder.status()) status_ = builder.status();
    return builder.position();
  }

  /// Whether nothing is left to find out on the device: constants, and what the front end has proven of coordinates
  /// that the host knows. A store leaves out lanes beyond its destination, which is no mistake.
  bool is_known_inside(const Op& op, const Indexer& index, const Expr& extent) const {
    const Op* definition = nullptr;
    if (index.operand >= 0)
      definition = definitions_[static_cast<size_t>(op.operands[static_cast<size_t>(index.operand)])];
    const bool is_constant = definition != nullptr && definition->kind == OpKind::kConst;
    if (index.kind != Indexer::Kind::kAxis) {
      int64_t known = 0;
      return is_constant && extent.is_constant(&known);
    }
    if (op.kind != OpKind::kLoad) return true;
    const Axis& axis = kernel_.axis(index.axis);
    if (axis.begin_value != kNoValue || axis.extent_value != kNoValue || axis.lengths != kNoValue) return false;
    return index.operand < 0 || is_constant || (definition != nullptr && definition->kind == OpKind::kExpr);
  }

  std::string subject(const Indexer& index) const {
    if (index.kind != Indexer::Kind::kAxis) return "index out of range";
    const Axis& axis = kernel_.axis(index.axis);
    return axis.kind == AxisKind::kTile ? "tile " + axis.name + " out of range" : "slice out of range";
  }

  ValueId coordinates(Builder& b, const Op& op, const Indexer& index) const {
    const ValueId operand = index.operand < 0 ? kNoValue : op.operands[static_cast<size_t>(index.operand)];
    if (index.kind != Indexer::Kind::kAxis) return operand;
    const ValueId along = b.index(index.axis);
    if (operand == kNoValue) return along;
    return b.binary(BinaryFn::kAdd, along, b.broadcast_to(b.cast(operand, DType::kI64), {index.axis}));
  }

  ValueId is_inside(Builder& b, ValueId value, const Expr& extent) {
    const ValueId index = b.cast(value, DType::kI64);
    const std::vector<AxisId> axes = kernel_.type(index).axes;
    const ValueId low = b.compare(CompareFn::kGe, index, b.int_const(DType::kI64, 0, axes));
    const ValueId high = b.compare(CompareFn::kLt, index, b.broadcast_to(b.expr(extent), axes));
    return b.binary(BinaryFn::kAnd, low, high);
  }

  /// The condition for every lane of the access, true where its mask leaves it out.
  ValueId spread(Builder& b, const Op& op, ValueId inside) {
    const Type& accessed = kernel_.type(op.kind == OpKind::kLoad ? op.result() : op.operands[0]);
    const std::vector<AxisId> wanted = accessed.axes;
    const std::vector<AxisId> own = kernel_.type(inside).axes;
    std::vector<int64_t> perm;
    for (AxisId axis : wanted) {
      const auto found = std::find(own.begin(), own.end(), axis);
      if (found != own.end()) perm.push_back(found - own.begin());
    }
    if (!std::is_sorted(perm.begin(), perm.end())) inside = b.permute(inside, perm);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (std::find(own.begin(), own.end(), wanted[i]) == own.end())
        inside = b.expand_dims(inside, static_cast<int>(i));
    }
    inside = b.broadcast(inside, wanted);
    const ValueId mask = access_operands(op).mask;
    return mask == kNoValue ? inside : b.binary(BinaryFn::kOr, inside, b.unary(UnaryFn::kNot, mask));
  }

  Kernel& kernel_;
  const SourceFile* source_;
  std::vector<const Op*> definitions_;
  Status status_;
};

void erase_asserts(Region& region) {
  for (const auto& op : region.ops) {
    for (Region& inner : op->regions) erase_asserts(inner);
  }
  region.ops.erase(
      std::remove_if(region.ops.begin(), region.ops.end(), [](const auto& op) { return op->kind == OpKind::kAssert; }),
      region.ops.end());
}

}  // namespace

Status insert_checks(Kernel& kernel, const SourceFile* source) {
  KAON_RETURN_IF_ERROR(Checker(kernel, source).run());
  if (kernel.choices == nullptr) return Status::ok();
  auto checked = std::make_shared<KernelChoices>();
  checked->knobs = kernel.choices->knobs;
  for (const Kernel& body : kernel.choices->bodies) {
    checked->bodies.push_back(clone(body));
    KAON_RETURN_IF_ERROR(Checker(checked->bodies.back(), source).run());
  }
  kernel.choices = std::move(checked);
  return Status::ok();
}

void erase_asserts(Kernel& kernel) { erase_asserts(kernel.body); }

}  // namespace kaon::compiler
