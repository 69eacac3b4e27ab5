// The typing rules of products of matrices: which elements they take, what they sum in, and how their axes meet.
#pragma once

#include "compiler/ir/ir.h"
#include "runtime/base/status.h"

namespace kaon::compiler {

/// The type that products of `operand` elements are summed in: f32 for f32 and shorter floats, f64 for f64, i32 for i8
/// and u8. False for types that no dot takes.
bool dot_sum_dtype(DType operand, DType* sum);

/// Result of `dot a b [acc]`; kInternal when the operands do not fit together.
Result<Type> dot_type(const Kernel& kernel, const Op& op);

/// Checks the attributes of `dot_shared` against its result type:
///   a, b                   the shared buffers of the operands, of elements `dtype`
///   axis                   the axis that is summed over, up to where its tile ends; what lies behind is read too, as far
///                          as one turn of the loop goes, and must be 0
///   a_strides, b_strides   in elements, of the result's axes; the last of a and the last but one of b are those of `axis`
Status check_dot_shared(const Kernel& kernel, const Op& op, const Type& result);

/// The axis that a dot sums over, which both operands have: the last of the first.
AxisId dot_axis(const Kernel& kernel, const Op& op);

}  // namespace kaon::compiler
