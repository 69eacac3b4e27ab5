// Asserts on indices, and where they stand.
#include "compiler/passes/insert_checks.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/builder.h"
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
        op.set_attr("message", place(op) + "assert failed" + (text.empty() ? "" : ": " + text));
      }
      if (is_access(op.kind)) i = check(region, i);
    }
  }

  std::string place(const Op& op) const {
    if (source_ == nullptr || !op.range.is_known()) return "";
    const LineColumn at = source_->line_column(op.range.begin);
    return source_->name() + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
  }

  /// Checks of the access at `position`; returns where it stands then.
  size_t check(Region& region, size_t position) {
    const Op& op = *region.ops[position];
    const TensorParam& param = kernel_.signature.tensors[static_cast<size_t>(op.int_attr("tensor"))];
    const std::vector<Indexer> index = op.index_attr("index");
    Builder builder(kernel_, region, position);
    builder.set_range(op.range);
    for (size_t dim = 0; dim < index.size(); ++dim) {
      if (index[dim].kind == Indexer::Kind::kAxis) continue;
      const ValueId value = op.operands[static_cast<size_t>(index[dim].operand)];
      const Op* definition = definitions_[static_cast<size_t>(value)];
      if (definition != nullptr && definition->kind == OpKind::kConst) continue;
      const ValueId inside = is_inside(builder, value, param.extents[dim]);
      Op& check = builder.insert(OpKind::kAssert, {spread(builder, op, inside)});
      check.set_attr("message",
                     place(op) + "index out of range: dimension " + std::to_string(dim) + " of " + param.name);
    }
    if (!builder.status()) status_ = builder.status();
    return builder.position();
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

Status insert_checks(Kernel& kernel, const SourceFile* source) { return Checker(kernel, source).run(); }

void erase_asserts(Kernel& kernel) { erase_asserts(kernel.body); }

}  // namespace kaon::compiler
