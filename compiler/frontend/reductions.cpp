// sum, prod, mean, amax and amin along axes.
#include <algorithm>

#include "compiler/frontend/builtins.h"
#include "compiler/ir/block_axis.h"

namespace kaon::compiler {
namespace {

ReduceFn reduce_fn_of(const std::string& name) {
  if (name == "prod") return ReduceFn::kProd;
  if (name == "amax") return ReduceFn::kMax;
  if (name == "amin") return ReduceFn::kMin;
  return ReduceFn::kSum;  // sum, and mean
}

}  // namespace

bool KernelBuilder::reduced_dims(const ast::Expression& node, size_t position, int rank, std::vector<int64_t>* dims,
                                 bool* keepdim) {
  const ast::Expression* list = node.children.size() > position ? node.children[position].get() : nullptr;
  for (const ast::NamedArgument& argument : node.named) {
    if (argument.name == "keepdim") {
      const std::optional<bool> value = flag(*argument.value, "keepdim=");
      if (!value) return false;
      *keepdim = *value;
    } else {
      list = argument.value.get();
    }
  }
  if (list == nullptr) {
    for (int64_t dim = 0; dim < rank; ++dim) dims->push_back(dim);
    return true;
  }
  std::vector<const ast::Expression*> items = {list};
  if (list->kind == ast::ExpressionKind::kTuple) {
    items.clear();
    for (const ast::ExpressionPtr& child : list->children) items.push_back(child.get());
  }
  for (const ast::Expression* item : items) {
    const std::optional<int64_t> dim = constant(*item, "dim=");
    if (!dim) return false;
    if (*dim < -rank || *dim >= rank) {
      fail(item->range, "dim " + std::to_string(*dim) + " is outside the value's " + std::to_string(rank) +
                            (rank == 1 ? " axis" : " axes") + ", which are " + std::to_string(-rank) + " to " +
                            std::to_string(rank - 1));
      return false;
    }
    const int64_t position = *dim < 0 ? *dim + rank : *dim;
    if (std::find(dims->begin(), dims->end(), position) != dims->end()) {
      fail(item->range, "dim " + std::to_string(*dim) + " is listed twice");
      return false;
    }
    dims->push_back(position);
  }
  std::sort(dims->begin(), dims->end());
  return true;
}

// An axis of extent 1 needs no folding: it stays for keepdim and goes otherwise.
ValueId KernelBuilder::drop_unit_dims(ValueId value, std::vector<int64_t>* dims, bool keepdim) {
  std::vector<int64_t> rest;
  int64_t dropped = 0;
  for (int64_t dim : *dims) {
    if (kernel_.type(value).axes[static_cast<size_t>(dim - dropped)] != kUnitAxis) {
      rest.push_back(dim - dropped);
    } else if (!keepdim) {
      value = builder_.squeeze(value, static_cast<int>(dim - dropped));
      ++dropped;
    }
  }
  *dims = rest;
  return value;
}

Value KernelBuilder::reduction(const ast::Expression& node) {
  const char* usage = find_builtin(node.text)->usage;
  if (node.children.empty() || node.children.size() > 2) {
    return fail(node.range, node.text + " takes a value, dim= and keepdim=, got " +
                                std::to_string(node.children.size()) + " arguments: " + usage);
  }
  if (!only_named(node, {"dim", "keepdim"})) return Value::error();
  const Operand a{expression(*node.children[0]), node.children[0].get()};
  if (a.value.is_error() || !require_number(a)) return Value::error();
  if (node.children.size() == 2 &&
      std::any_of(node.named.begin(), node.named.end(), [](const auto& n) { return n.name == "dim"; })) {
    return fail(node.children[1]->range, "dim is given twice, once by its place and once as dim=");
  }
  const Type type = type_of(a.value);
  if (type.is_scalar())
    return fail(node.range, node.text + " folds an axis, but " + describe(a.value) + " is a single number");
  if (reject_storage_type(node.text, a)) return Value::error();
  std::vector<int64_t> dims;
  bool keepdim = false;
  if (!reduced_dims(node, 1, type.rank(), &dims, &keepdim)) return Value::error();
  if (lacks_parent(a.node->range, "what is folded", type.axes)) return Value::error();
  if (folds_parent(node.range, node.text, type.axes, dims)) return Value::error();
  const ReduceFn fn = reduce_fn_of(node.text);
  const std::string expected = why_illegal_operand(fn, type.dtype);
  const bool is_mean = node.text == "mean";
  if (!expected.empty() || (is_mean && !dtype_is_float(type.dtype))) {
    return fail(node.range, node.text + " takes " + (is_mean ? "floats" : expected) + ", got " +
                                dtype_name(type.dtype) + "; cast, as in f32(...)");
  }
  std::vector<AxisId> folded;
  for (int64_t dim : dims) {
    const AxisId axis = type.axes[static_cast<size_t>(dim)];
    if (axis == kUnitAxis) continue;
    if (is_mean && kernel_.axis(axis).kind == AxisKind::kTile) {
      return fail(node.range,
                  "mean over axis " + describe_axis(axis) +
                      " would be the mean of one tile; sum over the loop and divide by the extent after it");
    }
    if (is_mean && is_block(kernel_.axis(axis))) {
      return fail(node.range, "mean over block " + kernel_.axis(axis).name +
                                  " would divide by the tile size; sum over it and divide by what was added up");
    }
    folded.push_back(axis);
  }
  builder_.set_range(node.range);
  ValueId value = drop_unit_dims(materialise(a.value), &dims, keepdim);
  if (!dims.empty()) value = builder_.reduce(fn, value, dims, keepdim);
  return is_mean && !folded.empty() ? mean_of(value, folded, node.range) : Value::typed(value);
}

// The quotient is taken in f32 at least: the extent itself need not fit f16.
Value KernelBuilder::mean_of(ValueId sum, const std::vector<AxisId>& folded, SourceRange range) {
  const Type type = kernel_.type(sum);
  const DType wide = type.dtype == DType::kF64 ? DType::kF64 : DType::kF32;
  std::optional<HostInt> count = HostInt(1);
  ValueId counted = kNoValue;  // on the device: extents that only it knows
  for (AxisId axis : folded) {
    const std::optional<HostInt>& end = ranges_[static_cast<size_t>(axis)].end;
    if (!end) {
      const ValueId size = axis_size(axis);
      counted = counted == kNoValue ? size : builder_.binary(BinaryFn::kMul, counted, size);
    } else if (count) {
      count = HostInt::binary(ExprOp::kMul, *count, *end);
    }
  }
  if (!count)
    return fail(
        range,
        "the extents of these axes multiply to an expression that is too large; take the mean one axis at a time");
  ValueId elements = materialise(Value::host_int(*count));
  if (counted != kNoValue) elements = builder_.binary(BinaryFn::kMul, elements, counted);
  const ValueId divisor = builder_.broadcast_to(builder_.cast(elements, wide), type.axes);
  const ValueId quotient = builder_.binary(BinaryFn::kDiv, builder_.cast(sum, wide), divisor);
  return Value::typed(builder_.cast(quotient, type.dtype));
}

}  // namespace kaon::compiler
