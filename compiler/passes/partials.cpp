// Dropping digits from layouts and naming what is left.
#include "compiler/passes/partials.h"

#include <algorithm>
#include <limits>

namespace kaon::compiler {

namespace {

int64_t lowest_integer(DType dtype) {
  if (dtype == DType::kBool || !dtype_is_signed(dtype)) return 0;
  return std::numeric_limits<int64_t>::min() >> (64 - 8 * dtype_bytes(dtype));
}

int64_t highest_integer(DType dtype) {
  if (dtype == DType::kBool) return 1;
  const int bits = 8 * dtype_bytes(dtype) - (dtype_is_signed(dtype) ? 1 : 0);
  return bits == 64 ? -1 : static_cast<int64_t>((uint64_t{1} << bits) - 1);  // -1: the bits of the largest u64
}

double largest_float(DType dtype) {
  return dtype == DType::kF8E4M3 ? 448.0 : std::numeric_limits<double>::infinity();  // e4m3 has no infinity
}

}  // namespace

PartialTile PartialAxes::fold(ValueId value, const std::vector<int64_t>& dims, Where where) {
  PartialTile out{kernel_.type(value), Layout()};
  std::vector<std::vector<Digit>> digits;
  const Layout layout = kernel_.layout(value);
  for (int dim = 0; dim < layout.rank(); ++dim) {
    std::vector<Digit> kept = layout.digits(dim);
    if (std::find(dims.begin(), dims.end(), dim) != dims.end()) {
      kept.erase(std::remove_if(kept.begin(), kept.end(), [&](const Digit& d) { return d.where == where; }),
                 kept.end());
      AxisId& slot = out.type.axes[static_cast<size_t>(dim)];
      slot = kept.empty() ? kUnitAxis : axis(slot, kept);
    }
    digits.push_back(std::move(kept));
  }
  // Removing register digits leaves gaps in the numbering; drop() of nothing closes them.
  out.layout = Layout(std::move(digits), layout.num_warps(), layout.num_blocks()).drop({});
  return out;
}

AxisId PartialAxes::axis(AxisId source, const std::vector<Digit>& digits) {
  const Layout alone({digits}, 1);
  const std::string text = alone.to_string();
  const auto found = known_.find({source, text});
  if (found != known_.end()) return found->second;
  Axis axis;
  // A name of its own: the axis that is folded, and how often that has happened.
  axis.name = kernel_.axis(source).name + "." + std::to_string(kernel_.axes.size());
  axis.kind = AxisKind::kStatic;
  axis.block = static_cast<int64_t>(alone.capacity(0));
  axis.extent = Expr(axis.block);
  const AxisId id = kernel_.new_axis(std::move(axis));
  known_[{source, text}] = id;
  return id;
}

ValueId identity_const(Builder& builder, ReduceFn fn, const PartialTile& like) {
  const DType dtype = like.type.dtype;
  ValueId value = kNoValue;
  if (fn == ReduceFn::kSum || fn == ReduceFn::kProd) {
    value = builder.int_const(dtype, fn == ReduceFn::kProd ? 1 : 0, like.type.axes);
  } else if (dtype_is_float(dtype)) {
    const double largest = largest_float(dtype);
    value = builder.float_const(dtype, fn == ReduceFn::kMax ? -largest : largest, like.type.axes);
  } else {
    value =
        builder.int_const(dtype, fn == ReduceFn::kMax ? lowest_integer(dtype) : highest_integer(dtype), like.type.axes);
  }
  builder.kernel().layout(value) = like.layout;
  return value;
}

BinaryFn combining_fn(ReduceFn fn) {
  switch (fn) {
    case ReduceFn::kSum: return BinaryFn::kAdd;
    case ReduceFn::kProd: return BinaryFn::kMul;
    case ReduceFn::kMax: return BinaryFn::kMax;
    case ReduceFn::kMin: return BinaryFn::kMin;
  }
  return BinaryFn::kAdd;
}

}  // namespace kaon::compiler
