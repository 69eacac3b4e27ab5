// Matching the axes of the operands of dot, of its accumulator and of its lowered form.
#include "compiler/ir/dot_rules.h"

#include <algorithm>

#include "compiler/ir/bug.h"
#include "compiler/ir/type_rules.h"

namespace kaon::compiler {
namespace {

/// The axes of the result; both operands have the same rank of at least 2.
Result<std::vector<AxisId>> dot_axes(const Kernel& kernel, const Type& a, const Type& b) {
  const size_t rank = a.axes.size();
  const std::string both = type_text(kernel, a) + " and " + type_text(kernel, b);
  if (rank < 2 || b.axes.size() != rank) return bug("expected operands of one rank of at least 2, got " + both);
  if (a.axes[rank - 1] != b.axes[rank - 2] || a.axes[rank - 1] == kUnitAxis) {
    return bug("expected the last axis of the first as the last but one of the second, got " + both);
  }
  std::vector<AxisId> axes;
  for (size_t i = 0; i + 2 < rank; ++i) {
    if (a.axes[i] != b.axes[i] && a.axes[i] != kUnitAxis && b.axes[i] != kUnitAxis) {
      return bug("leading axes differ, " + both);
    }
    axes.push_back(a.axes[i] == kUnitAxis ? b.axes[i] : a.axes[i]);
  }
  axes.push_back(a.axes[rank - 2]);
  axes.push_back(b.axes[rank - 1]);
  for (size_t i = 0; i < rank; ++i) {
    const bool again = std::find(axes.begin() + static_cast<ptrdiff_t>(i) + 1, axes.end(), axes[i]) != axes.end();
    const bool summed = axes[i] == a.axes[rank - 1];
    if (axes[i] != kUnitAxis && (again || summed)) return bug("an axis would be there twice, " + both);
  }
  return axes;
}

}  // namespace

bool dot_sum_dtype(DType operand, DType* sum) {
  switch (operand) {
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
    case DType::kF8E4M3:
    case DType::kF8E5M2: *sum = DType::kF32; return true;
    case DType::kF64: *sum = DType::kF64; return true;
    case DType::kI8:
    case DType::kU8: *sum = DType::kI32; return true;
    default: return false;
  }
}

Result<Type> dot_type(const Kernel& kernel, const Op& op) {
  if (op.operands.size() != 2 && op.operands.size() != 3) {
    return bug("expected 2 or 3 operands, got " + std::to_string(op.operands.size()));
  }
  const Type& a = kernel.type(op.operands[0]);
  const Type& b = kernel.type(op.operands[1]);
  Type result;
  if (a.dtype != b.dtype || !dot_sum_dtype(a.dtype, &result.dtype)) {
    return bug("expected two operands of one type that dot takes, got " + type_text(kernel, a) + " and " +
               type_text(kernel, b));
  }
  KAON_ASSIGN_OR_RETURN(result.axes, dot_axes(kernel, a, b));
  if (op.operands.size() == 3 && kernel.type(op.operands[2]) != result) {
    return bug("accumulator: expected " + type_text(kernel, result) + ", got " +
               type_text(kernel, kernel.type(op.operands[2])));
  }
  return result;
}

Status check_dot_shared(const Kernel& kernel, const Op& op, const Type& result) {
  if (op.operands.size() > 1) return bug("expected at most an accumulator, got " + std::to_string(op.operands.size()));
  if (op.operands.size() == 1 && kernel.type(op.operands[0]) != result) {
    return bug("accumulator: expected " + type_text(kernel, result) + ", got " +
               type_text(kernel, kernel.type(op.operands[0])));
  }
  DType operand{};
  DType sum{};
  if (!parse_dtype(op.str_attr("dtype"), &operand) || !dot_sum_dtype(operand, &sum) || sum != result.dtype) {
    return bug("attribute dtype: no elements \"" + op.str_attr("dtype") + "\" whose products sum to " +
               dtype_name(result.dtype));
  }
  const int64_t axis = op.int_attr("axis", kUnitAxis);
  if (axis < 0 || axis >= static_cast<int64_t>(kernel.axes.size())) return bug("attribute axis: no such axis");
  for (const char* name : {"a", "b"}) {
    const int64_t buffer = op.int_attr(name, -1);
    if (buffer < 0 || buffer >= static_cast<int64_t>(kernel.shared_buffers.size())) {
      return bug("attribute " + std::string(name) + ": no shared buffer " + std::to_string(buffer));
    }
    const std::string strides = std::string(name) + "_strides";
    const Attr* list = op.find_attr(strides);
    const auto* values = list ? std::get_if<std::vector<int64_t>>(list) : nullptr;
    if (values == nullptr || static_cast<int>(values->size()) != result.rank()) {
      return bug("attribute " + strides + ": expected one stride for each axis");
    }
  }
  return Status::ok();
}

AxisId dot_axis(const Kernel& kernel, const Op& op) { return kernel.type(op.operands[0]).axes.back(); }

}  // namespace kaon::compiler
