// A fold of tuples as thread, lane and shared-memory steps.
#include <algorithm>
#include <utility>
#include <vector>

#include "compiler/ir/combine.h"
#include "compiler/passes/stage_tuples.h"
#include "compiler/passes/through_shared.h"

namespace kaon::compiler {

namespace {

class FoldStager {
 public:
  FoldStager(Kernel& kernel, PartialAxes& axes, Region& region, const Op& fold)
      : kernel_(kernel), axes_(axes), fold_(fold), dims_(fold.ints_attr("dims")), builder_(kernel, region) {
    builder_.set_range(fold.range);
  }

  void run() {
    const size_t size = tuple_size(fold_);
    flagged_ = fold_.int_attr("flagged") != 0;
    tuple_ = fold_.operands;
    // Always first: it leaves out lanes that do not exist.
    step(OpKind::kFoldThread, Where::kRegister);
    if (has_digits(Where::kLane)) step(OpKind::kFoldLanes, Where::kLane);
    if (has_digits(Where::kWarp)) {
      const PartialTile to = gathered();
      for (ValueId& value : tuple_) {
        PartialTile own = to;
        own.type.dtype = kernel_.type(value).dtype;
        value = through_shared(builder_, value, own, "partials");
      }
      step(OpKind::kFoldThread, Where::kRegister);
    }
    const ValueId valid = tuple_[size];
    for (size_t i = 0; i < size; ++i) finish(tuple_[i], valid, fold_.results[i]);
  }

 private:
  bool has_digits(Where where) const {
    for (const int64_t dim : dims_) {
      for (const Digit& digit : kernel_.layout(tuple_[0]).digits(static_cast<int>(dim))) {
        if (digit.where == where) return true;
      }
    }
    return false;
  }

  void step(OpKind kind, Where where) {
    const PartialTile tile = axes_.fold(tuple_[0], dims_, where);
    Op& op = builder_.insert(kind, tuple_);
    op.set_attr("dims", dims_);
    if (flagged_) op.set_attr("flagged", int64_t{1});
    op.regions.push_back(copy_combine(kernel_, fold_.regions[0]));
    std::vector<ValueId> results;
    for (size_t i = 0; i <= tuple_size(fold_); ++i) {
      const DType dtype = i < tuple_size(fold_) ? kernel_.type(tuple_[i]).dtype : DType::kBool;
      results.push_back(kernel_.new_value(Type{dtype, tile.type.axes}));
      kernel_.layout(results.back()) = tile.layout;
    }
    op.results = results;
    tuple_ = std::move(results);
    flagged_ = true;
  }

  /// The same tile with the warp digits of the dims in registers of every thread.
  PartialTile gathered() const {
    const Layout layout = kernel_.layout(tuple_[0]);
    std::vector<std::vector<Digit>> digits;
    uint32_t unit = layout.num_registers();
    for (int dim = 0; dim < layout.rank(); ++dim) {
      digits.push_back(layout.digits(dim));
      if (std::find(dims_.begin(), dims_.end(), dim) == dims_.end()) continue;
      const auto count = static_cast<uint32_t>(layout.capacity(dim));
      digits.back() = {{count, Where::kRegister, unit}};
      unit *= count;
    }
    return {kernel_.type(tuple_[0]), Layout(std::move(digits), layout.num_warps(), layout.num_blocks())};
  }

  /// `result` becomes the value, or zero where there was nothing to fold.
  void finish(ValueId value, ValueId valid, ValueId result) {
    const Type type = kernel_.type(value);
    Layout layout = kernel_.layout(value);
    const ValueId zero = builder_.int_const(type.dtype, 0, type.axes);
    kernel_.layout(zero) = layout;
    value = builder_.select(valid, value, zero);
    kernel_.layout(value) = layout;
    std::vector<int64_t> dims = dims_;
    std::sort(dims.rbegin(), dims.rend());
    for (const int64_t dim : dims) {
      if (fold_.int_attr("keepdim") != 0) break;
      layout = layout.squeeze(static_cast<int>(dim));
      value = builder_.squeeze(value, static_cast<int>(dim));
      kernel_.layout(value) = layout;
    }
    builder_.region().ops.back()->results[0] = result;
  }

  Kernel& kernel_;
  PartialAxes& axes_;
  const Op& fold_;
  std::vector<int64_t> dims_;
  Builder builder_;
  std::vector<ValueId> tuple_;  // members, then the flag
  bool flagged_ = false;
};

}  // namespace

void stage_fold(Kernel& kernel, PartialAxes& axes, Region& region, const Op& fold) {
  FoldStager(kernel, axes, region, fold).run();
}

}  // namespace kaon::compiler
