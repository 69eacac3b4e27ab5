// Addresses and masks of a load or store.
#include <algorithm>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/access.h"
#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {
namespace {

bool is_constant(llvm::Value* value, int64_t* out) {
  auto* constant = llvm::dyn_cast<llvm::ConstantInt>(value);
  if (constant != nullptr) *out = constant->getSExtValue();
  return constant != nullptr;
}

/// "evict" attribute to PTX qualifiers. `stream`: leave the first cache to others; `cs`: first to leave every cache.
std::string access_modifiers(const Op& op, bool may_alias) {
  const std::string evict = op.str_attr("evict");
  if (op.kind == OpKind::kStore) return evict == "cs" || evict == "stream" ? ".cs" : "";
  std::string modifiers = evict == "cs" ? ".cs" : "";
  if (!may_alias) modifiers += ".nc";
  if (evict == "stream") modifiers += ".L1::no_allocate";
  return modifiers;
}

}  // namespace

bool Lowering::analyse_access(const Op& op, Access& access) {
  const AccessOperands operands = access_operands(op);
  const ValueId tile = op.kind == OpKind::kLoad ? op.result() : operands.value;
  const auto tensor = static_cast<int>(op.int_attr("tensor"));
  access.op = &op;
  access.param = &kernel_.signature.tensors[static_cast<size_t>(tensor)];
  access.dtype = access.param->dtype;
  access.index = op.index_attr("index");
  access.type = kernel_.type(tile);
  access.layout = &kernel_.layout(tile);
  access.is_narrow = kernel_.config.get_int("index", 64) == 32;
  bool may_alias = access.param->is_output;
  for (const TensorParam& other : kernel_.signature.tensors) may_alias |= other.aliases == access.param->name;
  access.modifiers = access_modifiers(op, may_alias);
  for (size_t dim = 0; dim < access.index.size(); ++dim) {
    access.strides.push_back(slot(kernel_.signature.stride_slot(tensor, static_cast<int>(dim))));
    const auto& axes = access.type.axes;
    const auto found = std::find(axes.begin(), axes.end(), access.index[dim].axis);
    const bool by_axis = access.index[dim].kind == Indexer::Kind::kAxis;
    if (by_axis && found == axes.end()) return fail(op, "the tile lacks an axis that addresses the tensor"), false;
    access.dims.push_back(by_axis ? static_cast<int>(found - axes.begin()) : -1);
  }
  access.vector = std::min(static_cast<int>(op.int_attr("vector", 1)), 16 / dtype_bytes(access.dtype));
  access.is_split = op.str_attr("edge") == "split";
  for (size_t dim = 0; dim < access.dims.size(); ++dim) {
    int64_t stride = 0;
    if (access.dims[dim] >= 0 && is_constant(access.strides[dim], &stride) && stride == 1)
      access.vector_dim = access.dims[dim];
  }
  if (operands.mask != kNoValue) access.mask = registers(operands.mask);
  if (operands.other != kNoValue) access.other = registers(operands.other);
  if (access.vector > 1 && access.vector_dim < 0) return fail(op, "a vector needs a dimension of stride 1"), false;
  make_base(access, slot(kernel_.signature.pointer_slot(tensor)));
  return true;
}

/// Two sums: what the whole block shares (scalar registers on the machine), and what the thread adds.
void Lowering::make_base(Access& access, llvm::Value* pointer) {
  llvm::Type* type = access.is_narrow ? b_.getInt32Ty() : b_.getInt64Ty();
  llvm::Value* shared = llvm::ConstantInt::get(type, 0);
  llvm::Value* own = llvm::ConstantInt::get(type, 0);
  for (size_t dim = 0; dim < access.index.size(); ++dim) {
    const Indexer& indexer = access.index[dim];
    llvm::Value* stride = b_.CreateTrunc(access.strides[dim], type);
    if (indexer.kind == Indexer::Kind::kTile) continue;
    llvm::Value* start = llvm::ConstantInt::get(type, 0);
    if (indexer.operand >= 0) {
      const ValueId operand = access.op->operands[static_cast<size_t>(indexer.operand)];
      start = b_.CreateIntCast(scalar(operand), type, dtype_is_signed(kernel_.type(operand).dtype));
    }
    if (access.dims[dim] >= 0) {
      start = b_.CreateAdd(start, b_.CreateTrunc(axis_state(indexer.axis).begin, type));
      llvm::Value* position = b_.CreateZExt(thread_position(*access.layout, access.dims[dim]), type);
      own = b_.CreateAdd(own, b_.CreateMul(position, stride));
    }
    shared = b_.CreateAdd(shared, b_.CreateMul(start, stride));
  }
  llvm::Value* bytes = b_.getInt64(access.element_bytes());
  llvm::Value* wide_shared = b_.CreateMul(b_.CreateSExt(shared, b_.getInt64Ty()), bytes);
  llvm::Value* wide_own = b_.CreateMul(b_.CreateSExt(own, b_.getInt64Ty()), bytes);
  access.base = b_.CreateAdd(b_.CreateAdd(pointer, wide_shared), wide_own);
}

llvm::Value* Lowering::gathered_index(const Access& access, size_t dim, uint32_t reg) {
  const ValueId operand = access.op->operands[static_cast<size_t>(access.index[dim].operand)];
  const Type& type = kernel_.type(operand);
  std::vector<int> dims, own_dims;
  for (int i = 0; i < type.rank(); ++i) {
    for (int j = 0; j < access.type.rank(); ++j) {
      if (type.axes[static_cast<size_t>(i)] == access.type.axes[static_cast<size_t>(j)])
        dims.push_back(i), own_dims.push_back(j);
    }
  }
  const int found =
      RegisterMap(kernel_.layout(operand), dims).find(RegisterMap::parts_of(*access.layout, own_dims, reg));
  if (found < 0) return fail(*access.op, "the index tile holds no register for the tile's"), b_.getInt64(0);
  return b_.CreateIntCast(registers(operand)[static_cast<size_t>(found)], b_.getInt64Ty(), dtype_is_signed(type.dtype));
}

llvm::Value* Lowering::access_address(Access& access, uint32_t reg) {
  int64_t constant = 0;
  std::vector<uintptr_t> key;
  std::vector<std::pair<llvm::Value*, llvm::Value*>> products;  // i64 factor, stride
  for (size_t dim = 0; dim < access.index.size(); ++dim) {
    llvm::Value* stride = access.strides[dim];
    if (access.index[dim].kind == Indexer::Kind::kTile) {
      products.push_back({gathered_index(access, dim, reg), stride});
    }
    if (access.dims[dim] < 0) continue;
    const auto part = static_cast<int64_t>(access.layout->register_part(access.dims[dim], reg));
    int64_t known = 0;
    if (is_constant(stride, &known)) {
      constant += part * known;
    } else if (part != 0) {
      products.push_back({b_.getInt64(static_cast<uint64_t>(part)), stride});
    }
    if (llvm::Value* origin = origin_of(access.type, *access.layout, access.dims[dim], reg)) {
      products.push_back({b_.CreateNeg(b_.CreateSExt(origin, b_.getInt64Ty())), stride});
    }
  }
  for (auto [factor, stride] : products) {
    key.push_back(reinterpret_cast<uintptr_t>(factor));
    key.push_back(reinterpret_cast<uintptr_t>(stride));
  }
  llvm::Value*& row = access.rows[key];
  if (row == nullptr) {
    llvm::Type* type = access.is_narrow ? b_.getInt32Ty() : b_.getInt64Ty();
    llvm::Value* sum = llvm::ConstantInt::get(type, 0);
    for (auto [factor, stride] : products) {
      sum = b_.CreateAdd(sum, b_.CreateMul(b_.CreateTrunc(factor, type), b_.CreateTrunc(stride, type)));
    }
    llvm::Value* bytes = b_.CreateMul(b_.CreateSExt(sum, b_.getInt64Ty()), b_.getInt64(access.element_bytes()));
    row = b_.CreateAdd(access.base, bytes);
  }
  return b_.CreateAdd(row, llvm::ConstantInt::getSigned(b_.getInt64Ty(), constant * access.element_bytes()));
}

/// Existence, where the tensor's own extent is not the axis's, that as well, and the author's mask. `skip_dim` (or -1)
/// is left out.
Registers Lowering::access_masks(Access& access, int skip_dim) {
  std::vector<bool> is_skipped(access.type.axes.size(), false);
  if (skip_dim >= 0) is_skipped[static_cast<size_t>(skip_dim)] = true;
  Registers masks = existence(access.type, *access.layout, is_skipped);
  for (size_t dim = 0; dim < access.index.size(); ++dim) {
    const Indexer& indexer = access.index[dim];
    if (access.dims[dim] < 0) continue;
    const Axis& axis = kernel_.axis(indexer.axis);
    const bool same = axis.extent_value == kNoValue && axis.extent == access.param->extents[dim];
    if (indexer.operand < 0 && same) continue;
    llvm::Value* extent = emit_expr(access.param->extents[dim]);
    llvm::Value* start = axis_state(indexer.axis).begin;
    if (indexer.operand >= 0) {
      const ValueId operand = access.op->operands[static_cast<size_t>(indexer.operand)];
      start = b_.CreateAdd(
          start, b_.CreateIntCast(scalar(operand), b_.getInt64Ty(), dtype_is_signed(kernel_.type(operand).dtype)));
    }
    for (uint32_t reg = 0; reg < masks.size(); ++reg) {
      llvm::Value* position = shifted_position(access.type, *access.layout, access.dims[dim], reg);
      llvm::Value* coordinate = b_.CreateAdd(start, b_.CreateSExt(position, b_.getInt64Ty()));
      llvm::Value* inside = b_.CreateICmpULT(coordinate, extent);
      masks[reg] = masks[reg] == nullptr ? inside : b_.CreateAnd(masks[reg], inside);
    }
  }
  if (access.turn_exists != nullptr) {
    for (llvm::Value*& mask : masks) {
      mask = mask == nullptr ? access.turn_exists : b_.CreateAnd(mask, access.turn_exists);
    }
  }
  for (uint32_t reg = 0; reg < access.mask.size(); ++reg) {
    masks[reg] = masks[reg] == nullptr ? access.mask[reg] : b_.CreateAnd(masks[reg], access.mask[reg]);
  }
  return masks;
}

}  // namespace kaon::compiler::codegen
