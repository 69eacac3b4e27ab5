// The pure ops of the interpreted program.
#include "compiler/oracle/machine.h"

#include <algorithm>

#include "compiler/ir/functions.h"
#include "compiler/oracle/combine.h"
#include "compiler/oracle/dot.h"
#include "compiler/oracle/element_ops.h"
#include "compiler/oracle/fusion.h"
#include "compiler/oracle/reductions.h"
#include "compiler/oracle/views.h"

namespace kaon::compiler {
namespace {

void set_scalar(int64_t value, Tile* result) {
  result->shape(DType::kI64, {}, /*is_exact=*/true);
  result->ints[0] = value;
}

}  // namespace

void Machine::run_expr(const Op& op) {
  set_scalar(std::get<Expr>(*op.find_attr("expr")).evaluate(slots_.data()), &tile(op.result()));
}

void Machine::run_const(const Op& op) {
  Tile& result = tile(op.result());
  const auto count = static_cast<ptrdiff_t>(result.count);
  const Attr& attr = *op.find_attr("value");
  const int64_t* integer = std::get_if<int64_t>(&attr);
  if (result.is_float()) {
    const double value = integer ? static_cast<double>(*integer) : std::get<double>(attr);
    std::fill(result.floats.begin(), result.floats.begin() + count, round_to(result.dtype, value));
  } else {
    std::fill(result.ints.begin(), result.ints.begin() + count, wrap_int(result.dtype, *integer));
  }
}

void Machine::run_index(const Op& op) {
  Tile& result = tile(op.result());
  const auto axis = static_cast<AxisId>(op.int_attr("axis"));
  const int64_t begin = kernel_.axis(axis).kind == AxisKind::kTile ? state(axis).begin : 0;
  for (size_t i = 0; i < result.count; ++i) result.ints[i] = begin + static_cast<int64_t>(i);
}

void Machine::run_axis_info(const Op& op) {
  const auto id = static_cast<AxisId>(op.int_attr("axis"));
  const std::string what = op.str_attr("what");
  const bool is_tile = kernel_.axis(id).kind == AxisKind::kTile;
  const int64_t block = blocks_[static_cast<size_t>(id)];
  const AxisState& s = state(id);
  int64_t value = 0;
  if (what == "begin")
    value = is_tile ? s.begin : 0;
  else if (what == "end")
    value = is_tile ? std::min(s.begin + block, s.end) : kernel_.axis(id).extent.evaluate(slots_.data());
  else if (what == "id")
    value = s.id;
  else if (what == "block_size")
    value = block;
  else
    value = s.count;
  set_scalar(value, &tile(op.result()));
}

/// A slice or concat of `parts`; the second part of a slice is its begin.
Status Machine::cut(const Op& op, const std::vector<const Tile*>& parts, const std::vector<int64_t>& sizes,
                    Tile* result) {
  const auto dim = static_cast<size_t>(op.int_attr("dim"));
  if (op.kind == OpKind::kConcat) {
    copy_concat(parts, dim, sizes, result);
    return Status::ok();
  }
  int64_t begin = op.int_attr("begin");
  if (parts.size() == 2) {
    if (!parts[1]->exact) return Status(Code::kUnsupported, "oracle: a part's begin depends on how a float is rounded");
    begin = parts[1]->ints[0];
  }
  const bool is_empty = std::count(sizes.begin(), sizes.end(), 0) > 0;
  if (is_empty) {
    result->shape(parts[0]->dtype, sizes, /*is_exact=*/true);
    return Status::ok();
  }
  if (begin < 0 || begin + sizes[dim] > parts[0]->sizes[dim]) {
    return Status(Code::kInternal, "oracle: the part from " + std::to_string(begin) + " of extent " +
                                       std::to_string(sizes[dim]) + " is no part of extent " +
                                       std::to_string(parts[0]->sizes[dim]));
  }
  copy_slice(*parts[0], dim, begin, sizes, result);
  return Status::ok();
}

Status Machine::run_combining(const Op& op) {
  std::vector<const Tile*> operands;
  for (ValueId operand : op.operands) operands.push_back(&tile(operand));
  std::vector<int64_t> sizes;
  KAON_RETURN_IF_ERROR(sizes_of(kernel_.type(op.result()).axes, &sizes));
  const std::vector<uint8_t> exists = lanes_of(kernel_.type(op.operands[0]).axes, operands[0]->sizes);
  std::vector<Tile> results = op.kind == OpKind::kFold ? eval_fold(kernel_, op, operands, sizes, exists)
                                                       : eval_scan(kernel_, op, operands, exists);
  for (size_t i = 0; i < results.size(); ++i) tile(op.results[i]) = std::move(results[i]);
  return Status::ok();
}

Status Machine::run_pure(const Op& op) {
  const Type& type = kernel_.type(op.result());
  std::vector<int64_t> sizes;
  KAON_RETURN_IF_ERROR(sizes_of(type.axes, &sizes));
  Tile& result = tile(op.result());
  auto operand = [&](size_t i) -> const Tile& { return tile(op.operands[i]); };
  switch (op.kind) {
    case OpKind::kConst:
    case OpKind::kIndex:
      result.shape(type.dtype, sizes, /*is_exact=*/true);
      op.kind == OpKind::kConst ? run_const(op) : run_index(op);
      break;
    case OpKind::kExpr: run_expr(op); break;
    case OpKind::kAxisInfo: run_axis_info(op); break;
    case OpKind::kUnary: eval_unary(function_of<UnaryFn>(op), operand(0), &result); break;
    case OpKind::kBinary:
      eval_binary(function_of<BinaryFn>(op), operand(0), operand(1), &result);
      if (fusable_[static_cast<size_t>(op.result())]) doubt_overflows(operand(0), operand(1), &result);
      break;
    case OpKind::kCompare: eval_compare(function_of<CompareFn>(op), operand(0), operand(1), &result); break;
    case OpKind::kSelect: eval_select(operand(0), operand(1), operand(2), &result); break;
    case OpKind::kCast: eval_cast(operand(0), type.dtype, &result); break;
    case OpKind::kReuse:
    case OpKind::kExpandDims:
    case OpKind::kSqueeze: copy_reshaped(operand(0), sizes, &result); break;
    case OpKind::kBroadcast: copy_broadcast(operand(0), sizes, &result); break;
    case OpKind::kPermute: copy_permuted(operand(0), op.ints_attr("perm"), &result); break;
    case OpKind::kRetile: copy_strided(operand(0), sizes, row_major_strides(operand(0).sizes), &result); break;
    case OpKind::kMerge:
      copy_merged(operand(0), operand(1), lanes_of(kernel_.type(op.operands[1]).axes, operand(1).sizes), &result);
      break;
    case OpKind::kReshape: copy_reshaped(operand(0), sizes, &result); break;
    case OpKind::kSlice:
    case OpKind::kConcat: {
      std::vector<const Tile*> parts;
      for (const ValueId value : op.operands) parts.push_back(&tile(value));
      return cut(op, parts, sizes, &result);
    }
    case OpKind::kReduce:
      eval_reduce(function_of<ReduceFn>(op), operand(0), op.ints_attr("dims"), sizes,
                  lanes_of(kernel_.type(op.operands[0]).axes, operand(0).sizes), &result);
      break;
    case OpKind::kDot: {
      const auto factor = [&](size_t i) {
        return DotOperand{operand(i), lanes_of(kernel_.type(op.operands[i]).axes, operand(i).sizes)};
      };
      const Tile* acc = op.operands.size() > 2 ? &operand(2) : nullptr;
      eval_dot(factor(0), factor(1), acc, type.dtype, sizes, &result);
      break;
    }
    default: return Status(Code::kUnsupported, "oracle: cannot interpret " + std::string(op_info(op.kind).text));
  }
  return Status::ok();
}

}  // namespace kaon::compiler
