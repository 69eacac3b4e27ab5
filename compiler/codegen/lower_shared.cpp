// Tiles in shared memory: each element at its position, by default row-major, else by the strides of an array.
#include <algorithm>

#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower_shared.h"

namespace kaon::compiler::codegen {
namespace {

DeviceFunction write_function(unsigned bytes) {
  return bytes == 1   ? DeviceFunction::kSharedWriteB8
         : bytes == 2 ? DeviceFunction::kSharedWriteB16
         : bytes == 4 ? DeviceFunction::kSharedWriteB32
                      : DeviceFunction::kSharedWriteB64;
}

DeviceFunction read_function(unsigned bytes) {
  return bytes == 1   ? DeviceFunction::kSharedReadB8
         : bytes == 2 ? DeviceFunction::kSharedReadB16
         : bytes == 4 ? DeviceFunction::kSharedReadB32
                      : DeviceFunction::kSharedReadB64;
}

/// Registers by the condition under which they are accessed, in the order of the first.
std::vector<std::pair<llvm::Value*, std::vector<uint32_t>>> by_condition(const Registers& masks) {
  std::vector<std::pair<llvm::Value*, std::vector<uint32_t>>> groups;
  for (uint32_t reg = 0; reg < masks.size(); ++reg) {
    auto found =
        std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == masks[reg]; });
    if (found == groups.end()) found = groups.insert(groups.end(), {masks[reg], {}});
    found->second.push_back(reg);
  }
  return groups;
}

}  // namespace

SharedPlaces shared_places(const Op& op, const Layout& layout) {
  SharedPlaces places;
  places.strides = op.ints_attr("strides");
  places.offset = op.int_attr("offset");
  places.is_row_major = op.find_attr("strides") == nullptr;
  if (!places.is_row_major) return places;
  int64_t stride = 1;
  places.strides.assign(static_cast<size_t>(layout.rank()), 1);
  for (size_t dim = places.strides.size(); dim-- > 0;) {
    places.strides[dim] = stride;
    stride *= static_cast<int64_t>(layout.capacity(static_cast<int>(dim)));
  }
  return places;
}

/// Elements from the start of the buffer that the register alone gives.
uint32_t SharedPlaces::part(const Layout& layout, uint32_t reg) const {
  int64_t position = 0;
  for (size_t dim = 0; dim < strides.size(); ++dim) {
    position += strides[dim] * static_cast<int64_t>(layout.register_part(static_cast<int>(dim), reg));
  }
  return static_cast<uint32_t>(position);
}

/// i32: byte offset of the thread's first element in shared memory.
llvm::Value* Lowering::shared_offset(const Op& op, const Layout& layout, DType dtype) {
  const SharedBuffer& buffer = kernel_.shared_buffers[static_cast<size_t>(op.int_attr("buffer"))];
  const SharedPlaces places = shared_places(op, layout);
  llvm::Value* position = b_.getInt32(static_cast<uint32_t>(places.offset));
  for (int dim = 0; dim < layout.rank(); ++dim) {
    llvm::Value* stride = b_.getInt32(static_cast<uint32_t>(places.strides[static_cast<size_t>(dim)]));
    position =
        b_.CreateAdd(position, b_.CreateMul(thread_position(layout, dim), stride, "", true, true), "", true, true);
  }
  if (op.kind == OpKind::kSharedLoad && !op.operands.empty()) {
    position = b_.CreateAdd(position, b_.CreateTrunc(scalar(op.operands[0]), b_.getInt32Ty()));
  }
  position = b_.CreateMul(position, b_.getInt32(static_cast<uint32_t>(dtype_bytes(dtype))), "", true, true);
  return b_.CreateAdd(position, b_.getInt32(buffer.offset), "", true, true);
}

void Lowering::lower_shared_store(const Op& op) {
  const ValueId operand = op.operands[0];
  const DType dtype = kernel_.type(operand).dtype;
  const Layout& layout = kernel_.layout(operand);
  const SharedPlaces places = shared_places(op, layout);
  const Registers& values = registers(operand);
  const auto bytes = static_cast<unsigned>(dtype_bytes(dtype));
  Registers masks(values.size(), nullptr);
  if (!places.is_row_major) masks = existence(kernel_.type(operand), layout);
  llvm::Value* owner = owner_condition(layout);
  llvm::Value* base = shared_offset(op, layout, dtype);
  for (const auto& [mask, group] : by_condition(masks)) {
    llvm::Value* condition = owner;
    if (mask != nullptr) condition = owner == nullptr ? mask : b_.CreateAnd(owner, mask);
    llvm::BasicBlock* done = nullptr;
    if (condition != nullptr) {
      llvm::BasicBlock* write = llvm::BasicBlock::Create(context_, "owner", function_);
      done = llvm::BasicBlock::Create(context_, "owner.done", function_);
      b_.CreateCondBr(condition, write, done);
      b_.SetInsertPoint(write);
    }
    for (const uint32_t reg : group) {
      Words operands = {b_.CreateAdd(base, b_.getInt32(places.part(layout, reg) * bytes))};
      operands.append(memory_words({values[reg]}, dtype));
      operands.push_back(site());
      call(write_function(bytes), operands);
    }
    if (done == nullptr) continue;
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }
}

void Lowering::lower_shared_load(const Op& op) {
  const DType dtype = kernel_.type(op.result()).dtype;
  const Layout& layout = kernel_.layout(op.result());
  const SharedPlaces places = shared_places(op, layout);
  const auto bytes = static_cast<unsigned>(dtype_bytes(dtype));
  Registers result(register_count(layout), nullptr);
  Registers masks(result.size(), nullptr);
  if (!places.is_row_major) masks = existence(kernel_.type(op.result()), layout);
  llvm::Value* base = shared_offset(op, layout, dtype);
  for (const auto& [mask, group] : by_condition(masks)) {
    llvm::BasicBlock* before = b_.GetInsertBlock();
    llvm::BasicBlock* done = nullptr;
    if (mask != nullptr) {
      llvm::BasicBlock* read = llvm::BasicBlock::Create(context_, "exists", function_);
      done = llvm::BasicBlock::Create(context_, "exists.done", function_);
      b_.CreateCondBr(mask, read, done);
      b_.SetInsertPoint(read);
    }
    for (const uint32_t reg : group) {
      llvm::Value* loaded =
          call(read_function(bytes), {b_.CreateAdd(base, b_.getInt32(places.part(layout, reg) * bytes)), site()});
      result[reg] = bytes == 8
                        ? from_words({b_.CreateExtractValue(loaded, 0), b_.CreateExtractValue(loaded, 1)}, dtype, 1)[0]
                        : from_memory(loaded, dtype);
    }
    if (done == nullptr) continue;
    llvm::BasicBlock* read = b_.GetInsertBlock();
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
    for (const uint32_t reg : group) {
      llvm::PHINode* phi = b_.CreatePHI(result[reg]->getType(), 2);
      phi->addIncoming(result[reg], read);
      phi->addIncoming(llvm::Constant::getNullValue(result[reg]->getType()), before);
      result[reg] = phi;
    }
  }
  define(op.result(), std::move(result));
}

}  // namespace kaon::compiler::codegen
