// How a call's arguments are checked and laid out as slots.
#include "runtime/launch/arguments.h"

#include <cstdlib>
#include <numeric>

#include "runtime/base/text.h"

namespace kaon {
namespace {

#define KAON_COLD __attribute__((noinline, cold))

KAON_COLD Status invalid(const Signature& signature, const std::string& what) {
  return make_status(Code::kInvalidArgument, signature.kernel, ": ", what);
}

// Sets `error`; false, so that a failing check is one return.
KAON_COLD bool fail(Status* error, const Signature& signature, const std::string& what) {
  *error = invalid(signature, what);
  return false;
}

// Whether offsets of the view's bytes fit 64 bits. Asked only when an extent or stride is large.
KAON_COLD bool fits_address_space(const TensorView& view, const int64_t* strides) {
  int64_t low = 0, high = 0, numel = 1;
  for (int axis = 0; axis < view.rank; ++axis) {
    int64_t reach = 0;
    if (__builtin_mul_overflow(view.sizes[axis] - 1, strides[axis], &reach)) return false;
    if (__builtin_mul_overflow(numel, view.sizes[axis], &numel)) return false;
    if (__builtin_add_overflow(reach < 0 ? low : high, reach, reach < 0 ? &low : &high)) return false;
  }
  int64_t bytes = dtype_bytes(view.dtype);
  return !__builtin_add_overflow(high, 1, &high) && !__builtin_mul_overflow(high, bytes, &high) &&
         !__builtin_mul_overflow(low, bytes, &low);
}

KAON_COLD bool has_no_elements(const TensorView& view) {
  for (int axis = 0; axis < view.rank; ++axis) {
    if (view.sizes[axis] == 0) return true;
  }
  return false;
}

// Below this no sum of kMaxRank products of an extent and a stride, times 8 bytes, leaves 64 bits.
constexpr uint64_t kSmall = uint64_t{1} << 28;

KAON_COLD std::string shape_text(const TensorView& view) {
  std::string text = "[";
  for (int axis = 0; axis < view.rank && axis < kMaxRank; ++axis) {
    append_to(&text, axis == 0 ? "" : ", ", view.sizes[axis]);
  }
  return cat(text, "]");
}

// Values of the dims and scalars that an expression reads: "N = 7".
KAON_COLD std::string values_text(const Signature& signature, const Expr& expr, const int64_t* slots) {
  std::vector<std::string> names = signature.slot_names();
  std::string text;
  std::vector<bool> is_named(names.size(), false);
  for (const ExprStep& step : expr.steps()) {
    if (step.op != ExprOp::kSlot || is_named[step.operand]) continue;
    is_named[step.operand] = true;
    append_to(&text, text.empty() ? "" : ", ", names[step.operand], " = ", slots[step.operand]);
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

// True when all strides of both are multiples of one number, modulo which their elements lie beside each other: views
// of every other element, or row, of one tensor.
bool are_interleaved(const TensorView& a, const TensorView& b) {
  int64_t step = 0;
  for (const TensorView* view : {&a, &b}) {
    for (int axis = 0; axis < view->rank; ++axis) {
      if (view->sizes[axis] > 1) step = std::gcd(step, view->strides[axis] * dtype_bytes(view->dtype));
    }
  }
  if (step == 0) return false;
  int64_t ahead = (reinterpret_cast<intptr_t>(b.data) - reinterpret_cast<intptr_t>(a.data)) % step;
  if (ahead < 0) ahead += step;
  return ahead >= dtype_bytes(a.dtype) && step - ahead >= dtype_bytes(b.dtype);
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
  return !are_interleaved(a, b);
}

ArgumentChecker::ArgumentChecker(const Signature& signature) : signature_(signature) {
  num_slots_ = signature_.num_slots();
  std::vector<bool> is_bound(signature_.dims.size(), false);
  for (int i = 0; i < signature_.num_tensors(); ++i) {
    const TensorParam& param = signature_.tensors[i];
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
        axes_.push_back({AxisRule::kExpr, static_cast<uint16_t>(exprs_.size())});
        exprs_.push_back(extent.view());
        continue;
      }
      axes_.push_back({is_bound[dim] ? AxisRule::kSame : AxisRule::kBind, static_cast<uint16_t>(steps[0].operand)});
      is_bound[dim] = true;
    }
    for (int other = 0; param.is_output && other < signature_.num_tensors(); ++other) {
      if (other == i || (signature_.tensors[other].is_output && other > i)) continue;
      pairs_.push_back({static_cast<uint8_t>(i), static_cast<uint8_t>(other)});
    }
  }
}

Status ArgumentChecker::check_types(const Signature& signature, const TensorView* const* tensors, int num_tensors,
                                    int num_scalars) {
  if (num_tensors != signature.num_tensors()) {
    return invalid(signature, cat("got ", num_tensors, " tensors, expected ", signature.num_tensors()));
  }
  if (num_scalars != static_cast<int>(signature.scalars.size())) {
    return invalid(signature,
                   cat("got ", num_scalars, " scalars, expected ", static_cast<int64_t>(signature.scalars.size())));
  }
  for (int i = 0; i < num_tensors; ++i) {
    const TensorParam& param = signature.tensors[i];
    if (tensors[i]->dtype != param.dtype) {
      return invalid(signature, cat(param.name, " has dtype ", dtype_name(tensors[i]->dtype), ", expected ",
                                    dtype_name(param.dtype)));
    }
  }
  return Status::ok();
}

void ArgumentChecker::extents(int tensor, const int64_t* slots, int64_t* out) const {
  const Tensor& info = tensors_[tensor];
  for (int axis = 0; axis < info.rank; ++axis) {
    const Axis& rule = axes_[info.first_axis + axis];
    out[axis] = rule.rule == AxisRule::kExpr ? evaluate(exprs_[rule.place], slots) : slots[rule.place];
  }
}

inline bool ArgumentChecker::fill_tensor(int index, const TensorView& view, const TensorView& first, int64_t* slots,
                                         Span* span, Status* error) const {
  const Tensor& info = tensors_[index];
  int rank = view.rank;
  if (rank != info.rank) return tensor_fault(Fault::kRank, index, 0, view, first, slots, error);
  if (view.device != first.device) return tensor_fault(Fault::kDevice, index, 0, view, first, slots, error);
  const Axis* rules = axes_.data() + info.first_axis;
  int64_t* strides = slots + info.first_stride;
  uint64_t low = 0, high = 0, magnitudes = 0;
  bool is_empty = false;
#pragma GCC unroll 1
  for (int axis = 0; axis < rank; ++axis) {
    int64_t size = view.sizes[axis], stride = view.strides[axis];
    Axis rule = rules[axis];
    if (size <= 1) {
      if (size < 0) return tensor_fault(Fault::kNegative, index, axis, view, first, slots, error);
      stride = axis == rank - 1 ? 1 : 0;
      is_empty |= size == 0;
    } else if (stride == 0 && info.is_output && !has_no_elements(view)) {
      return tensor_fault(Fault::kOutputStride, index, axis, view, first, slots, error);
    }
    if (rule.rule == AxisRule::kBind) {
      slots[rule.place] = size;
    } else if (rule.rule == AxisRule::kSame && slots[rule.place] != size) {
      return tensor_fault(Fault::kExtent, index, axis, view, first, slots, error);
    }
    strides[axis] = stride;
    // Unsigned, because products and sums may be out of range until `magnitudes` was looked at.
    uint64_t reach = static_cast<uint64_t>(size - 1) * static_cast<uint64_t>(stride);
    uint64_t sign = static_cast<uint64_t>(stride >> 63);
    low += reach & sign;
    high += reach & ~sign;
    magnitudes |= static_cast<uint64_t>(size) | ((static_cast<uint64_t>(stride) ^ sign) - sign);
  }
  if (magnitudes >= kSmall && !fits_address_space(view, strides)) {
    return tensor_fault(Fault::kTooLarge, index, 0, view, first, slots, error);
  }
  uintptr_t address = reinterpret_cast<uintptr_t>(view.data);
  slots[index] = static_cast<int64_t>(address);
  *span = {address, address};
  if (is_empty) return true;
  if (address == 0) return tensor_fault(Fault::kNull, index, 0, view, first, slots, error);
  if ((address & (info.element_bytes - 1u)) != 0) {
    return tensor_fault(Fault::kMisaligned, index, 0, view, first, slots, error);
  }
  span->begin = address + low * info.element_bytes;
  span->end = address + (high + 1) * info.element_bytes;
  return true;
}

bool ArgumentChecker::fill(const TensorView* const* tensors, const ScalarValue* scalars, int64_t* slots,
                           Status* error) const {
  Span spans[kMaxTensors];
  int count = num_tensors();
  for (int i = 0; i < count; ++i) {
    if (!fill_tensor(i, *tensors[i], *tensors[0], slots, &spans[i], error)) return false;
  }
  int slot = num_slots_ - static_cast<int>(signature_.scalars.size());
  for (size_t i = 0; i < signature_.scalars.size(); ++i) {
    const ScalarParam& param = signature_.scalars[i];
    if (!scalar_bits(scalars[i], param.dtype, &slots[slot + static_cast<int>(i)])) {
      return fail(error, signature_, cat(param.name, " does not fit its type ", dtype_name(param.dtype)));
    }
  }
  if (!exprs_.empty() && !check_extents(tensors, slots, error)) return false;
  if (!signature_.requires_.empty() && !check_requires(slots, error)) return false;
  for (Pair pair : pairs_) {
    const Span& a = spans[pair.output];
    const Span& b = spans[pair.other];
    if (a.begin < b.end && b.begin < a.end && !check_pair(tensors, pair, error)) return false;
  }
  return true;
}

KAON_COLD bool ArgumentChecker::tensor_fault(Fault fault, int index, int axis, const TensorView& view,
                                             const TensorView& first, const int64_t* slots, Status* error) const {
  const Tensor& info = tensors_[index];
  std::string text = signature_.tensors[index].name;
  std::string size = cat(view.sizes[axis]), on_axis = cat(" on axis ", axis);
  int place = axis < info.rank ? axes_[info.first_axis + axis].place : 0;
  switch (fault) {
    case Fault::kRank: append_to(&text, " has rank ", view.rank, ", expected ", info.rank); break;
    case Fault::kDevice:
      append_to(&text, " lies on ", view.device.to_string(), ", ", signature_.tensors[0].name, " on ",
                first.device.to_string());
      break;
    case Fault::kNegative: append_to(&text, " has extent ", size, on_axis); break;
    case Fault::kExtent:
      append_to(&text, " has extent ", size, on_axis, ", expected ", signature_.dims[place - num_tensors()], " = ",
                slots[place]);
      break;
    case Fault::kOutputStride: append_to(&text, " is an output with stride 0", on_axis, " of extent ", size); break;
    case Fault::kTooLarge: append_to(&text, " of shape ", shape_text(view), " spans more than 2^63 bytes"); break;
    case Fault::kNull: append_to(&text, " is null although its shape is ", shape_text(view)); break;
    case Fault::kMisaligned:
      append_to(&text, " is not aligned to its element of ", info.element_bytes, " bytes");
      break;
  }
  return fail(error, signature_, text);
}

bool ArgumentChecker::check_extents(const TensorView* const* tensors, const int64_t* slots, Status* error) const {
  for (int i = 0; i < num_tensors(); ++i) {
    const Tensor& info = tensors_[i];
    for (int axis = 0; axis < info.rank; ++axis) {
      const Axis& rule = axes_[info.first_axis + axis];
      if (rule.rule != AxisRule::kExpr) continue;
      int64_t expected = evaluate(exprs_[rule.place], slots);
      if (tensors[i]->sizes[axis] == expected) continue;
      const Expr& extent = signature_.tensors[i].extents[axis];
      std::string values = values_text(signature_, extent, slots);
      return fail(
          error, signature_,
          cat(signature_.tensors[i].name, " has extent ", tensors[i]->sizes[axis], " on axis ", axis, ", expected ",
              extent.to_string(signature_.slot_names()), values.empty() ? "" : cat(" = ", expected, " with ", values)));
    }
  }
  return true;
}

bool ArgumentChecker::check_requires(const int64_t* slots, Status* error) const {
  for (const Require& require : signature_.requires_) {
    if (require.condition.evaluate(slots) != 0) continue;
    return fail(
        error, signature_,
        cat("require ", require.text, " does not hold with ", values_text(signature_, require.condition, slots)));
  }
  return true;
}

// The spans of the two meet: decides whether that is allowed.
bool ArgumentChecker::check_pair(const TensorView* const* tensors, Pair pair, Status* error) const {
  const TensorView& output = *tensors[pair.output];
  const TensorView& other = *tensors[pair.other];
  bool is_alias = pair.other == tensors_[pair.output].alias;
  if (is_alias && are_same_view(output, other)) return true;
  if (!views_overlap(output, other)) return true;
  const std::string& other_name = signature_.tensors[pair.other].name;
  std::string rule =
      is_alias ? cat("it must be exactly ", other_name, " or apart from it") : "it is not declared to alias it";
  return fail(error, signature_,
              cat("output ", signature_.tensors[pair.output].name, " overlaps ", other_name, ": ", rule));
}

}  // namespace kaon
