// Solves the dimensions of a call and chooses tile sizes for interpreting it.
#include "compiler/oracle/binding.h"

#include <algorithm>
#include <utility>

#include "compiler/ir/block_axis.h"
#include "compiler/ir/walk.h"

namespace kaon::compiler {
namespace {

constexpr double kMaxElements = 65536;
constexpr int64_t kDataDependentRange = 1024;  // tile size limit where the range is not known before the run

Status mismatch(const Signature& signature, const std::string& message) {
  return Status(Code::kInvalidArgument, signature.kernel + ": " + message);
}

Status check_tensor(const Signature& signature, size_t i, const HostTensor& tensor) {
  const TensorParam& param = signature.tensors[i];
  const size_t rank = param.extents.size();
  if (tensor.sizes.size() != rank || tensor.strides.size() != rank) {
    return mismatch(signature, "tensor " + param.name + " has rank " + std::to_string(tensor.sizes.size()) +
                                   ", expected " + std::to_string(rank));
  }
  if (tensor.dtype != param.dtype) {
    return mismatch(signature, "tensor " + param.name + " is " + dtype_name(tensor.dtype) + ", expected " +
                                   dtype_name(param.dtype));
  }
  for (int64_t size : tensor.sizes) {
    if (size < 0) return mismatch(signature, "tensor " + param.name + " has extent " + std::to_string(size));
  }
  return Status::ok();
}

/// Dimensions that stand alone as an extent have that extent; the others cannot be told from the tensors.
Status solve_dims(const Signature& signature, const std::vector<HostTensor>& tensors, std::vector<int64_t>* slots) {
  for (size_t dim = 0; dim < signature.dims.size(); ++dim) {
    const int slot = signature.dim_slot(static_cast<int>(dim));
    const Expr alone = Expr::slot(slot);
    bool found = false;
    for (size_t i = 0; i < tensors.size() && !found; ++i) {
      const std::vector<Expr>& extents = signature.tensors[i].extents;
      const auto it = std::find(extents.begin(), extents.end(), alone);
      found = it != extents.end();
      if (found) (*slots)[static_cast<size_t>(slot)] = tensors[i].sizes[static_cast<size_t>(it - extents.begin())];
    }
    if (!found) return mismatch(signature, "dimension " + signature.dims[dim] + " is no tensor's own extent");
  }
  return Status::ok();
}

Status check_extents(const Signature& signature, const std::vector<HostTensor>& tensors,
                     const std::vector<int64_t>& slots) {
  const std::vector<std::string> names = signature.slot_names();
  for (size_t i = 0; i < tensors.size(); ++i) {
    const TensorParam& param = signature.tensors[i];
    for (size_t axis = 0; axis < param.extents.size(); ++axis) {
      const int64_t expected = param.extents[axis].evaluate(slots.data());
      if (tensors[i].sizes[axis] == expected) continue;
      return mismatch(signature, "axis " + std::to_string(axis) + " of " + param.name + " is " +
                                     param.extents[axis].to_string(names) + ": expected " + std::to_string(expected) +
                                     ", got " + std::to_string(tensors[i].sizes[axis]));
    }
  }
  for (const Require& require : signature.requires_) {
    if (require.condition.evaluate(slots.data()) == 0) return mismatch(signature, "requires " + require.text);
  }
  return Status::ok();
}

/// Sizes of tiles as they are chosen one by one.
class BlockChooser {
 public:
  BlockChooser(const Kernel& kernel, const std::vector<int64_t>& slots)
      : kernel_(kernel), blocks_(kernel.axes.size(), 0), sizes_(kernel.axes.size(), 1) {
    for (size_t i = 0; i < kernel.axes.size(); ++i) {
      const Axis& axis = kernel.axes[i];
      const bool is_data = axis.extent_value != kNoValue || axis.begin_value != kNoValue;
      int64_t range = is_data ? kDataDependentRange : axis.extent.evaluate(slots.data());
      if (!is_data && axis.kind == AxisKind::kTile) range -= axis.begin.evaluate(slots.data());
      ranges_.push_back(std::max<int64_t>(range, 1));
      if (axis.kind != AxisKind::kTile && !is_block(axis))
        sizes_[i] = ranges_[i];
      else
        sizes_[i] = blocks_[i] = axis.fixed_block > 0 ? axis.fixed_block : std::max<int64_t>(axis.block, 0);
    }
  }

  std::vector<int64_t> run() {
    Kernel live = clone(kernel_);
    erase_dead_ops(live);
    walk(std::as_const(live.body), [&](const Op& op, const ConstOpPlace&) {
      for (const ValueId result : op.results) live_types_.push_back(live.type(result));
    });
    std::vector<size_t> open;
    walk(kernel_.body, [&](const Op& op, const ConstOpPlace&) {
      for (ValueId result : op.results) types_.push_back(&kernel_.type(result));
      std::vector<int64_t> axes = op.ints_attr("axes");
      if (op.kind == OpKind::kLoop) axes = {op.int_attr("axis")};
      for (int64_t axis : axes) {
        const auto block = static_cast<size_t>(block_of(kernel_, static_cast<AxisId>(axis)));
        const bool is_open = blocks_[block] == 0 && std::find(open.begin(), open.end(), block) == open.end();
        if (is_open) open.push_back(block);
        ranges_[block] = std::max(ranges_[block], ranges_[static_cast<size_t>(axis)]);
      }
    });
    for (size_t axis : open) resize(axis, 1), blocks_[axis] = 1;
    std::reverse(open.begin(), open.end());
    for (size_t axis : open) {
      if (has_values(static_cast<AxisId>(axis))) grow(axis);
    }
    for (size_t i = 0; i < blocks_.size(); ++i) {
      blocks_[i] = blocks_[static_cast<size_t>(block_of(kernel_, static_cast<AxisId>(i)))];
    }
    return blocks_;
  }

 private:
  /// Of a registered block, with the tile axes that run by it.
  void resize(size_t block, int64_t size) {
    for (size_t i = 0; i < sizes_.size(); ++i) {
      if (block_of(kernel_, static_cast<AxisId>(i)) == static_cast<AxisId>(block)) sizes_[i] = size;
    }
  }

  void grow(size_t axis) {
    while (blocks_[axis] < ranges_[axis]) {
      resize(axis, 2 * blocks_[axis]);
      if (!fits(static_cast<AxisId>(axis))) break;
      blocks_[axis] *= 2;
    }
    resize(axis, blocks_[axis]);
  }

  bool runs_along(const Type& type, AxisId block) const {
    return std::any_of(type.axes.begin(), type.axes.end(),
                       [&](AxisId axis) { return block_of(kernel_, axis) == block; });
  }

  /// Loops along which no value runs go one by one in every config; how many turns they take may matter.
  bool has_values(AxisId block) const {
    return std::any_of(live_types_.begin(), live_types_.end(),
                       [&](const Type& type) { return runs_along(type, block); });
  }

  bool fits(AxisId changed) const {
    for (const Type* type : types_) {
      if (!runs_along(*type, changed)) continue;
      double elements = 1;
      for (AxisId axis : type->axes)
        elements *= axis == kUnitAxis ? 1.0 : static_cast<double>(sizes_[static_cast<size_t>(axis)]);
      if (elements > kMaxElements) return false;
    }
    return true;
  }

  const Kernel& kernel_;
  std::vector<int64_t> blocks_, sizes_, ranges_;
  std::vector<const Type*> types_;
  std::vector<Type> live_types_;  // of values that somebody uses: configs know of no others
};

}  // namespace

Result<std::vector<int64_t>> bind_slots(const Signature& signature, const std::vector<HostTensor>& tensors,
                                        const std::vector<int64_t>& scalars) {
  if (tensors.size() != signature.tensors.size() || scalars.size() != signature.scalars.size()) {
    return mismatch(signature, "expected " + std::to_string(signature.tensors.size()) + " tensors and " +
                                   std::to_string(signature.scalars.size()) + " scalars, got " +
                                   std::to_string(tensors.size()) + " and " + std::to_string(scalars.size()));
  }
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()), 0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    KAON_RETURN_IF_ERROR(check_tensor(signature, i, tensors[i]));
    slots[i] = static_cast<int64_t>(reinterpret_cast<intptr_t>(tensors[i].data));
    for (size_t axis = 0; axis < tensors[i].strides.size(); ++axis) {
      const int slot = signature.stride_slot(static_cast<int>(i), static_cast<int>(axis));
      slots[static_cast<size_t>(slot)] = tensors[i].strides[axis];
    }
  }
  for (size_t i = 0; i < scalars.size(); ++i) {
    slots[static_cast<size_t>(signature.scalar_slot(static_cast<int>(i)))] = scalars[i];
  }
  KAON_RETURN_IF_ERROR(solve_dims(signature, tensors, &slots));
  KAON_RETURN_IF_ERROR(check_extents(signature, tensors, slots));
  return slots;
}

std::vector<int64_t> choose_blocks(const Kernel& kernel, const std::vector<int64_t>& slots) {
  return BlockChooser(kernel, slots).run();
}

}  // namespace kaon::compiler
