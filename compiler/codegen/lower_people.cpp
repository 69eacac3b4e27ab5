// print and assert: texts in the image, values in a buffer of the thread.
#include <llvm/IR/Constants.h>

#include "compiler/codegen/lower.h"

namespace kaon::compiler::codegen {
namespace {

std::string escaped(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '%' ? std::string("%%") : std::string(1, c);
  return out;
}

/// The address of a constant text: a global one on a GPU.
llvm::Value* text_address(llvm::IRBuilder<>& b, llvm::Module& module, bool is_host, const std::string& text) {
  llvm::Constant* bytes = llvm::ConstantDataArray::getString(module.getContext(), text);
  auto* global =
      new llvm::GlobalVariable(module, bytes->getType(), /*isConstant=*/true, llvm::GlobalValue::PrivateLinkage, bytes,
                               "kaon_text", nullptr, llvm::GlobalValue::NotThreadLocal, is_host ? 0 : 1);
  return b.CreatePtrToInt(b.CreateAddrSpaceCast(global, b.getPtrTy()), b.getInt64Ty());
}

/// The address of `values`, 64 bits each, in memory of the thread.
llvm::Value* value_buffer(llvm::IRBuilder<>& b, llvm::BasicBlock* entry, llvm::ArrayRef<llvm::Value*> values) {
  llvm::IRBuilder<> in_entry(entry, entry->begin());
  llvm::Value* buffer = in_entry.CreateAlloca(llvm::ArrayType::get(b.getInt64Ty(), std::max<size_t>(values.size(), 1)));
  for (unsigned i = 0; i < values.size(); ++i) {
    b.CreateStore(values[i], b.CreateConstGEP1_32(b.getInt64Ty(), buffer, i));
  }
  return b.CreatePtrToInt(buffer, b.getInt64Ty());
}

}  // namespace

/// Any existing lane of the thread that fails stops the program.
void Lowering::lower_assert(const Op& op) {
  const ValueId condition = op.operands[0];
  const Registers exist = existence(kernel_.type(condition), kernel_.layout(condition));
  llvm::Value* failed = nullptr;
  for (uint32_t reg = 0; reg < registers(condition).size(); ++reg) {
    llvm::Value* fails = b_.CreateNot(registers(condition)[reg]);
    if (exist[reg] != nullptr) fails = b_.CreateAnd(exist[reg], fails);
    failed = failed == nullptr ? fails : b_.CreateOr(failed, fails);
  }
  llvm::BasicBlock* stop = llvm::BasicBlock::Create(context_, "assert", function_);
  llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "assert.done", function_);
  b_.CreateCondBr(failed, stop, done);
  b_.SetInsertPoint(stop);
  const auto line = static_cast<uint32_t>(op.int_attr("line"));
  call(DeviceFunction::kFail, {text_address(b_, module_, target_.is_host, op.str_attr("message")),
                               text_address(b_, module_, target_.is_host, op.str_attr("file")), b_.getInt32(line)});
  b_.CreateBr(done);
  b_.SetInsertPoint(done);
}

/// One line for each existing lane, by its owner: the text, the coordinates, the values.
void Lowering::lower_print(const Op& op) {
  Type type;
  Layout layout;
  if (!op.operands.empty()) {
    type = kernel_.type(op.operands[0]);
    layout = kernel_.layout(op.operands[0]);
  }
  std::string format = escaped(op.str_attr("text"));
  for (int dim = 0; dim < type.rank(); ++dim) format += dim == 0 ? " [%lld" : ", %lld";
  if (type.rank() > 0) format += "]";
  for (size_t i = 0; i < op.operands.size(); ++i) {
    format += std::string(i == 0 ? ": " : " ") + (dtype_is_float(kernel_.type(op.operands[i]).dtype) ? "%g" : "%lld");
  }
  llvm::Value* text = text_address(b_, module_, target_.is_host, format + "\n");
  const Registers exist = existence(type, layout);
  llvm::Value* owner = owner_condition(layout);
  for (uint32_t reg = 0; reg < exist.size(); ++reg) {
    llvm::Value* mask = exist[reg] == nullptr ? owner : owner == nullptr ? exist[reg] : b_.CreateAnd(exist[reg], owner);
    if (mask == nullptr) mask = b_.getTrue();
    llvm::BasicBlock* act = llvm::BasicBlock::Create(context_, "print", function_);
    llvm::BasicBlock* done = llvm::BasicBlock::Create(context_, "print.done", function_);
    b_.CreateCondBr(mask, act, done);
    b_.SetInsertPoint(act);
    llvm::SmallVector<llvm::Value*, 8> values;
    for (int dim = 0; dim < type.rank(); ++dim) {
      const AxisId axis = type.axes[static_cast<size_t>(dim)];
      if (axis == kUnitAxis) {
        values.push_back(b_.getInt64(0));
        continue;
      }
      llvm::Value* position = b_.CreateSExt(shifted_position(type, layout, dim, reg), b_.getInt64Ty());
      values.push_back(b_.CreateAdd(axis_state(axis).begin, position));
    }
    for (ValueId operand : op.operands) {
      const DType dtype = kernel_.type(operand).dtype;
      llvm::Value* value = registers(operand)[reg];
      if (dtype_is_float(dtype)) {
        values.push_back(b_.CreateBitCast(cast_value(value, dtype, DType::kF64), b_.getInt64Ty()));
      } else {
        values.push_back(b_.CreateIntCast(value, b_.getInt64Ty(), dtype_is_signed(dtype)));
      }
    }
    call(DeviceFunction::kPrint, {text, value_buffer(b_, entry_, values)});
    b_.CreateBr(done);
    b_.SetInsertPoint(done);
  }
}

}  // namespace kaon::compiler::codegen
