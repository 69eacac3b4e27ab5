// How a call's arguments are checked and laid out as slots.
#include "runtime/launch/arguments.h"

#include <cstdlib>

namespace kaon {
namespace {

#define KAON_COLD __attribute__((noinline, cold))

std::string str(int64_t value) { return std::to_string(value); }

KAON_COLD Status invalid(const Signature& signature, const std::string& what) {
  return {Code::kInvalidArgument, signature.kernel + ": " + what};
}

KAON_COLD std::string shape_text(const TensorView& view) {
  std::string text = "[";
  for (int axis = 0; axis < view.rank && axis < kMaxRank; ++axis) {
    text += (axis == 0 ? "" : ", ") + str(view.sizes[axis]);
  }
  return text + "]";
}

// Values of the dims and scalars that an expression reads: "N = 7".
KAON_COLD std::string values_text(const Signature& signature, const Expr& expr, const int64_t* slots) {
  std::vector<std::string> names = signature.slot_names();
  std::string text;
  std::vector<bool> is_named(names.size(), false);
  for (const ExprStep& step : expr.steps()) {
    if (step.op != ExprOp::kSlot || is_named[step.operand]) continue;
    is_named[step.operand] = true;
    text += (text.empty() ? "" : ", ") + names[step.operand] + " = " + str(slots[step.operand]);
  }
  return text;
}

struct ByteRange {
  int64_t low, high;  // offsets of the first byte and past the last byte
};

ByteRange byte_range(const TensorView& view, int skip_axis) {
  int64_t low = 0, high = 0;
  for (int axis = 0; axis < view.rank; ++axis) {
    if (axis == skip_axis) continue;
    int64_t reach = (view.sizes[axis] - 1) * view.strides[axis];
    (reach < 0 ? low : high) += reach;
  }
  int bytes = dtype_bytes(view.dtype);
  return {low * bytes, (high + 1) * bytes};
}

bool has_elements(const TensorView& view) {
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.sizes[axis] == 0) return false;
  }
  return true;
}

// Columns [low, high) of rows `pitch` bytes apart, when the other axes of `view` stay inside one row; else false.
bool columns_of_rows(const TensorView& view, int64_t pitch, ByteRange* columns) {
  int bytes = dtype_bytes(view.dtype);
  for (int axis = 0; axis < view.rank; ++axis) {
    if (std::abs(view.strides[axis]) * bytes != pitch || view.sizes[axis] <= 1) continue;
    ByteRange inner = byte_range(view, axis);
    if (inner.high - inner.low > pitch) return false;
    int64_t start = static_cast<int64_t>((reinterpret_cast<uintptr_t>(view.data) + inner.low) % pitch);
    *columns = {start, start + (inner.high - inner.low)};
    return true;
  }
  return false;
}

bool are_same_view(const TensorView& a, const TensorView& b) {
  if (a.data != b.data || a.rank != b.rank || a.dtype != b.dtype) return false;
  for (int axis = 0; axis < a.rank; ++axis) {
    if (a.sizes[axis] != b.sizes[axis]) return false;
    if (a.sizes[axis] > 1 && a.strides[axis] != b.strides[axis]) return false;
  }
  return true;
}

}  // namespace

bool views_overlap(const TensorView& a, const TensorView& b) {
  if (!has_elements(a) || !has_elements(b)) return false;
  ByteRange range_a = byte_range(a, -1), range_b = byte_range(b, -1);
  intptr_t start_a = reinterpret_cast<intptr_t>(a.data), start_b = reinterpret_cast<intptr_t>(b.data);
  if (start_a + range_a.high <= start_b + range_b.low || start_b + range_b.high <= start_a + range_a.low) return false;
  // The spans meet. Slices of columns of one matrix still share nothing: compare their columns modulo the pitch.
  for (int axis = 0; axis < a.rank; ++axis) {
    int64_t pitch = std::abs(a.strides[axis]) * dtype_bytes(a.dtype);
    ByteRange x, y;
    if (a.sizes[axis] <= 1 || pitch == 0 || !columns_of_rows(a, pitch, &x) || !columns_of_rows(b, pitch, &y)) continue;
    bool apart = x.high <= y.low || y.high <= x.low;
    bool apart_wrapped = x.high - pitch <= y.low && y.high - pitch <= x.low;
    if (apart && apart_wrapped) return false;
  }
  return true;
}

ArgumentChecker::ArgumentChecker(const Signature& signature) : signature_(signature) {
  num_slots_ = signature_.num_slots();
  std::vector<bool> is_bound(signature_.dims.size(), false);
  for (int i = 0; i < signature_.num_tensors(); ++i) {
    const TensorParam& param = signature_.tensors[i];
    dtype_bits_ |= static_cast<uint64_t>(param.dtype) << (4 * i);
    Tensor tensor;
    tensor.rank = static_cast<uint8_t>(param.extents.size());
    tensor.is_output = param.is_output;
    tensor.alias = static_cast<int8_t>(param.aliases.empty() ? -1 : signature_.find_tensor(param.aliases));
    tensor.element_bytes = static_cast<uint8_t>(dtype_bytes(param.dtype));
    tensor.first_axis = static_cast<uint16_t>(axes_.size());
    tensor.first_stride = static_cast<uint16_t>(signature_.stride_slot(i, 0));
    tensors_.push_back(tensor);
    for (const Expr& extent : param.extents) {
      const std::vector<ExprStep>& steps = extent.steps();
      int64_t dim = steps.size() == 1 && steps[0].op == ExprOp::kSlot ? steps[0].operand - signature_.dim_slot(0) : -1;
      if (dim < 0 || dim >= static_cast<int64_t>(is_bound.size())) {
        axes_.push_back({AxisRule::kExpr, 0, extent.view()});
        has_expr_axes_ = true;
        continue;
      }
      axes_.push_back({is_bound[dim] ? AxisRule::kSame : AxisRule::kBind, static_cast<uint16_t>(steps[0].operand), {}});
      is_bound[dim] = true;
    }
  }
}

Status ArgumentChecker::check_types(const Signature& signature, const TensorView* const* tensors, int num_tensors,
                                    int num_scalars) {
  if (num_tensors != signature.num_tensors()) {
    return invalid(signature, "got " + str(num_tensors) + " tensors, expected " + str(signature.num_tensors()));
  }
  if (num_scalars != static_cast<int>(signature.scalars.size())) {
    return invalid(signature, "got " + str(num_scalars) + " scalars, expected " +
                                  str(static_cast<int64_t>(signature.scalars.size())));
  }
  for (int i = 0; i < num_tensors; ++i) {
    const TensorParam& param = signature.tensors[i];
    if (tensors[i]->dtype != param.dtype) {
      return invalid(signature, param.name + " has dtype " + dtype_name(tensors[i]->dtype) + ", expected " +
                                    dtype_name(param.dtype));
    }
  }
  return Status::ok();
}

void ArgumentChecker::extents(int tensor, const int64_t* slots, int64_t* out) const {
  const Tensor& info = tensors_[tensor];
  for (int axis = 0; axis < info.rank; ++axis) {
    const Axis& rule = axes_[info.first_axis + axis];
    out[axis] = rule.rule == AxisRule::kExpr ? evaluate(rule.expr, slots) : slots[rule.slot];
  }
}

Status ArgumentChecker::fill(const TensorView* const* tensors, const ScalarValue* scalars, int64_t* slots) const {
  Span spans[kMaxTensors];
  int count = num_tensors();
  for (int i = 0; i < count; ++i) {
    if (Status status = fill_tensor(i, *tensors[i], *tensors[0], slots, &spans[i]); !status.is_ok()) return status;
  }
  int slot = num_slots_ - static_cast<int>(signature_.scalars.size());
  for (size_t i = 0; i < signature_.scalars.size(); ++i) {
    if (!scalar_bits(scalars[i], signature_.scalars[i].dtype, &slots[slot + static_cast<int>(i)])) {
      return invalid(signature_, signature_.scalars[i].name + " does not fit its type " +
                                     dtype_name(signature_.scalars[i].dtype));
    }
  }
  if (has_expr_axes_) KAON_RETURN_IF_ERROR(check_extents(tensors, slots));
  if (!signature_.requires_.empty()) KAON_RETURN_IF_ERROR(check_requires(slots));
  return check_overlap(tensors, spans);
}

Status ArgumentChecker::fill_tensor(int index, const TensorView& view, const TensorView& first, int64_t* slots,
                                    Span* span) const {
  const Tensor& info = tensors_[index];
  const std::string& name = signature_.tensors[index].name;
  if (view.rank != info.rank) {
    return invalid(signature_, name + " has rank " + str(view.rank) + ", expected " + str(info.rank));
  }
  if (view.device != first.device) {
    return invalid(signature_, name + " lies on " + view.device.to_string() + ", " + signature_.tensors[0].name +
                                   " on " + first.device.to_string());
  }
  uintptr_t address = reinterpret_cast<uintptr_t>(view.data);
  int64_t low = 0, high = 0, numel = 1;
  bool overflow = false;
  for (int axis = 0; axis < info.rank; ++axis) {
    int64_t size = view.sizes[axis], stride = view.strides[axis];
    const Axis& rule = axes_[info.first_axis + axis];
    if (size < 0) return invalid(signature_, name + " has extent " + str(size) + " on axis " + str(axis));
    if (rule.rule == AxisRule::kBind) {
      slots[rule.slot] = size;
    } else if (rule.rule == AxisRule::kSame && slots[rule.slot] != size) {
      return invalid(signature_, name + " has extent " + str(size) + " on axis " + str(axis) + ", expected " +
                                     signature_.dims[rule.slot - num_tensors()] + " = " + str(slots[rule.slot]));
    }
    if (size <= 1) {
      stride = axis == info.rank - 1 ? 1 : 0;
    } else if (stride == 0 && info.is_output) {
      return invalid(signature_, name + " is an output with stride 0 on axis " + str(axis) + " of extent " + str(size));
    }
    slots[info.first_stride + axis] = stride;
    int64_t reach = 0;
    overflow |= __builtin_mul_overflow(size - 1, stride, &reach);
    overflow |= __builtin_mul_overflow(numel, size, &numel);
    overflow |= reach < 0 ? __builtin_add_overflow(low, reach, &low) : __builtin_add_overflow(high, reach, &high);
  }
  int64_t low_bytes = 0, high_bytes = 0;
  overflow |= __builtin_mul_overflow(low, info.element_bytes, &low_bytes);
  overflow |= __builtin_add_overflow(high, 1, &high) || __builtin_mul_overflow(high, info.element_bytes, &high_bytes);
  if (overflow) return invalid(signature_, name + " of shape " + shape_text(view) + " spans more than 2^63 bytes");
  slots[index] = static_cast<int64_t>(address);
  *span = {address, address};
  if (numel == 0) return Status::ok();
  if (address == 0) return invalid(signature_, name + " is null although its shape is " + shape_text(view));
  if (address % info.element_bytes != 0) {
    return invalid(signature_, name + " is not aligned to its element of " + str(info.element_bytes) + " bytes");
  }
  *span = {address + static_cast<uintptr_t>(low_bytes), address + static_cast<uintptr_t>(high_bytes)};
  return Status::ok();
}

Status ArgumentChecker::check_extents(const TensorView* const* tensors, const int64_t* slots) const {
  for (int i = 0; i < num_tensors(); ++i) {
    const Tensor& info = tensors_[i];
    for (int axis = 0; axis < info.rank; ++axis) {
      const Axis& rule = axes_[info.first_axis + axis];
      if (rule.rule != AxisRule::kExpr) continue;
      int64_t expected = evaluate(rule.expr, slots);
      if (tensors[i]->sizes[axis] == expected) continue;
      const Expr& extent = signature_.tensors[i].extents[axis];
      std::string values = values_text(signature_, extent, slots);
      return invalid(signature_, signature_.tensors[i].name + " has extent " + str(tensors[i]->sizes[axis]) +
                                     " on axis " + str(axis) + ", expected " +
                                     extent.to_string(signature_.slot_names()) +
                                     (values.empty() ? "" : " = " + str(expected) + " with " + values));
    }
  }
  return Status::ok();
}

Status ArgumentChecker::check_requires(const int64_t* slots) const {
  for (const Require& require : signature_.requires_) {
    if (require.condition.evaluate(slots) != 0) continue;
    return invalid(signature_, "require " + require.text + " does not hold with " +
                                   values_text(signature_, require.condition, slots));
  }
  return Status::ok();
}

Status ArgumentChecker::check_overlap(const TensorView* const* tensors, const Span* spans) const {
  int count = num_tensors();
  for (int output = 0; output < count; ++output) {
    const Tensor& info = tensors_[output];
    if (!info.is_output) continue;
    for (int other = 0; other < count; ++other) {
      // Two outputs are compared once, from the later one.
      if (other == output || (tensors_[other].is_output && other > output)) continue;
      if (spans[output].end <= spans[other].begin || spans[other].end <= spans[output].begin) continue;
      if (other == info.alias && are_same_view(*tensors[output], *tensors[other])) continue;
      if (!views_overlap(*tensors[output], *tensors[other])) continue;
      const std::string& name = signature_.tensors[output].name;
      const std::string& other_name = signature_.tensors[other].name;
      std::string rule = other == info.alias ? "it must be exactly " + other_name + " or apart from it"
                                             : "it is not declared to alias it";
      return invalid(signature_, "output " + name + " overlaps " + other_name + ": " + rule);
    }
  }
  return Status::ok();
}

}  // namespace kaon
