// Binds named values to a signature and searches for some that fit it.
#include "tests/support/case_shapes.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "compiler/oracle/soft_float.h"

namespace kaon::compiler {
namespace {

Status wrong(const Signature& signature, const std::string& message) {
  return Status(Code::kInvalidArgument, signature.kernel + ": " + message);
}

Status set_value(const Signature& signature, const CaseShape& shape, const std::string& name, DType dtype,
                 int64_t* slot) {
  const auto it = shape.find(name);
  if (it == shape.end()) return wrong(signature, "the shape '" + shape_text(shape) + "' lacks " + name);
  if (dtype_is_float(dtype)) {
    *slot = static_cast<int64_t>(encode_float(dtype, it->second));
    return Status::ok();
  }
  if (it->second != std::floor(it->second))
    return wrong(signature, name + " is no integer in '" + shape_text(shape) + "'");
  *slot = static_cast<int64_t>(it->second);
  return Status::ok();
}

/// Extents of the shapes that are searched, from those with nothing in them to mixed ones.
const std::vector<std::vector<int64_t>>& pools() {
  static const std::vector<std::vector<int64_t>> all = {
      {0, 0, 1, 2}, {1, 1, 1, 2, 3}, {127, 33, 17, 9, 5}, {64, 32, 16, 8, 4}, {0, 1, 2, 3, 5, 8, 31, 64, 100}};
  return all;
}

}  // namespace

Result<std::vector<int64_t>> shape_slots(const Signature& signature, const CaseShape& shape) {
  std::vector<int64_t> slots(static_cast<size_t>(signature.num_slots()), 0);
  const auto at = [&](int slot) { return &slots[static_cast<size_t>(slot)]; };
  for (const auto& [name, value] : shape) {
    if (signature.find_dim(name) < 0 && signature.find_scalar(name) < 0)
      return wrong(signature, "has neither a dimension nor a scalar '" + name + "'");
  }
  for (size_t i = 0; i < signature.dims.size(); ++i) {
    KAON_RETURN_IF_ERROR(
        set_value(signature, shape, signature.dims[i], DType::kI64, at(signature.dim_slot(static_cast<int>(i)))));
  }
  for (size_t i = 0; i < signature.scalars.size(); ++i) {
    const ScalarParam& scalar = signature.scalars[i];
    KAON_RETURN_IF_ERROR(
        set_value(signature, shape, scalar.name, scalar.dtype, at(signature.scalar_slot(static_cast<int>(i)))));
  }
  const std::vector<std::vector<int64_t>> sizes = tensor_sizes(signature, slots);
  for (size_t t = 0; t < sizes.size(); ++t) {
    slots[t] = static_cast<int64_t>(t + 1) << 40;
    int64_t pitch = 1;
    for (size_t axis = sizes[t].size(); axis-- > 0;) {
      const int64_t size = sizes[t][axis];
      if (size < 0) return wrong(signature, signature.tensors[t].name + " has extent " + std::to_string(size));
      *at(signature.stride_slot(static_cast<int>(t), static_cast<int>(axis))) = pitch;
      pitch *= std::max<int64_t>(size, 1);
    }
  }
  for (const Require& require : signature.requires_) {
    if (require.condition.evaluate(slots.data()) == 0)
      return wrong(signature, "requires " + require.text + ", the shape is '" + shape_text(shape) + "'");
  }
  return slots;
}

std::vector<std::vector<int64_t>> tensor_sizes(const Signature& signature, const std::vector<int64_t>& slots) {
  std::vector<std::vector<int64_t>> sizes;
  for (const TensorParam& tensor : signature.tensors) {
    sizes.emplace_back();
    for (const Expr& extent : tensor.extents) sizes.back().push_back(extent.evaluate(slots.data()));
  }
  return sizes;
}

std::vector<int64_t> scalar_bits(const Signature& signature, const std::vector<int64_t>& slots) {
  return {slots.begin() + signature.scalar_slot(0), slots.end()};
}

std::vector<CaseShape> automatic_shapes(const Signature& signature, const std::vector<Guard>& guards, uint64_t seed) {
  constexpr int kTries = 2000;
  constexpr int64_t kMostElements = 40000;
  std::vector<CaseShape> shapes;
  std::mt19937_64 random(seed);
  for (const std::vector<int64_t>& pool : pools()) {
    for (int i = 0; i < kTries; ++i) {
      const auto draw = [&] { return static_cast<double>(pool[random() % pool.size()]); };
      CaseShape shape;
      for (const std::string& dim : signature.dims) shape[dim] = draw();
      for (const Guard& guard : guards) {
        if (guard.kind == GuardKind::kEqual)
          shape[signature.slot_names()[guard.slot]] = static_cast<double>(guard.value);
      }
      for (const ScalarParam& scalar : signature.scalars) {
        const bool is_float = dtype_is_float(scalar.dtype);
        shape[scalar.name] = is_float ? 0.25 * static_cast<double>(1 + random() % 8) : draw();
      }
      const Result<std::vector<int64_t>> slots = shape_slots(signature, shape);
      if (!slots) continue;
      int64_t elements = 0;
      for (const std::vector<int64_t>& sizes : tensor_sizes(signature, *slots)) {
        int64_t count = 1;
        for (const int64_t size : sizes) count *= size;
        elements += count;
      }
      if (elements > kMostElements) continue;
      if (std::find(shapes.begin(), shapes.end(), shape) == shapes.end()) shapes.push_back(shape);
      break;
    }
  }
  return shapes;
}

}  // namespace kaon::compiler
