// Bodies of the device functions for `host`: plain loads, and calls through the table of the SIMT machine.
#include <cstddef>

#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "compiler/codegen/device_functions.h"
#include "runtime/host/simt_abi.h"

namespace kaon::compiler::codegen {
namespace {

using llvm::Value;

class HostBinder {
 public:
  explicit HostBinder(llvm::Module& module) : module_(module), b_(module.getContext()) {}

  void bind(llvm::Function& function, const DeviceFunctionInfo& info, llvm::StringRef modifiers) {
    function.setLinkage(llvm::GlobalValue::InternalLinkage);
    function.addFnAttr(llvm::Attribute::AlwaysInline);
    function_ = &function;
    b_.SetInsertPoint(llvm::BasicBlock::Create(module_.getContext(), "", &function));
    thread_ = function.getArg(0);
    args_.clear();
    for (llvm::Argument& argument : llvm::drop_begin(function.args())) args_.push_back(&argument);
    Value* result = body(info, modifiers);
    if (function.getReturnType()->isVoidTy()) {
      b_.CreateRetVoid();
    } else {
      b_.CreateRet(result);
    }
  }

 private:
  Value* body(const DeviceFunctionInfo& info, llvm::StringRef modifiers) {
    const llvm::StringRef name = info.name;
    const bool masked = name.contains(".masked.");
    if (name.starts_with("shared.read")) return shared_read(access_width(info.function));
    if (name.starts_with("shared.write")) return shared_write(access_width(info.function));
    if (name.starts_with("ld.global")) return masked ? masked_load(access_width(info.function)) : load();
    if (name.starts_with("st.global")) return store(access_width(info.function), masked);
    if (name.starts_with("cas")) return compare_and_swap(modifiers.drop_front());
    if (name.starts_with("atom") || name.starts_with("red")) return atomic(modifiers);
    switch (info.function) {
      case DeviceFunction::kTid: return thread_field(offsetof(KaonSimtThread, thread), b_.getInt32Ty());
      case DeviceFunction::kProgram: return thread_field(offsetof(KaonSimtThread, block), b_.getInt32Ty());
      case DeviceFunction::kBarrier: return machine(offsetof(KaonSimtTable, barrier), b_.getVoidTy(), args_);
      case DeviceFunction::kShuffleXor: return machine(offsetof(KaonSimtTable, shuffle_xor), b_.getInt32Ty(), args_);
      case DeviceFunction::kFail: return machine(offsetof(KaonSimtTable, fail), b_.getVoidTy(), {pointer(args_[0])});
      case DeviceFunction::kPrint:
        return machine(offsetof(KaonSimtTable, print), b_.getVoidTy(), {pointer(args_[0]), pointer(args_[1])});
      case DeviceFunction::kF16ToF32: return math(offsetof(KaonSimtTable, f16_to_f32), b_.getFloatTy(), args_);
      case DeviceFunction::kF32ToF16: return math(offsetof(KaonSimtTable, f32_to_f16), b_.getInt16Ty(), args_);
      case DeviceFunction::kF32ToBf16: return math(offsetof(KaonSimtTable, f32_to_bf16), b_.getInt16Ty(), args_);
      case DeviceFunction::kF32PairToF16: return pair(offsetof(KaonSimtTable, f32_to_f16));
      case DeviceFunction::kF32PairToBf16: return pair(offsetof(KaonSimtTable, f32_to_bf16));
      case DeviceFunction::kExp2F32: return math(offsetof(KaonSimtTable, exp2f), b_.getFloatTy(), args_);
      case DeviceFunction::kLog2F32: return math(offsetof(KaonSimtTable, log2f), b_.getFloatTy(), args_);
      case DeviceFunction::kRcpF32: return b_.CreateFDiv(llvm::ConstantFP::get(b_.getFloatTy(), 1.0), args_[0]);
      case DeviceFunction::kDivF32: return b_.CreateFDiv(args_[0], args_[1]);
      case DeviceFunction::kRsqrtF32:
        return b_.CreateFDiv(llvm::ConstantFP::get(b_.getFloatTy(), 1.0),
                             b_.CreateUnaryIntrinsic(llvm::Intrinsic::sqrt, args_[0]));
      default: return llvm::PoisonValue::get(function_->getReturnType());
    }
  }

  Value* thread_field(size_t offset, llvm::Type* type) {
    return b_.CreateLoad(type, b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), thread_, offset));
  }

  /// Calls the table's function at `offset`; convergent, so that no pass moves it past control flow or another call.
  llvm::CallInst* call_table(size_t offset, llvm::Type* result, llvm::ArrayRef<Value*> operands) {
    Value* table = b_.CreateLoad(b_.getPtrTy(), thread_);
    Value* callee = b_.CreateLoad(b_.getPtrTy(), b_.CreateConstInBoundsGEP1_64(b_.getInt8Ty(), table, offset));
    llvm::SmallVector<llvm::Type*, 8> types;
    for (Value* operand : operands) types.push_back(operand->getType());
    llvm::CallInst* call = b_.CreateCall(llvm::FunctionType::get(result, types, /*isVarArg=*/false), callee, operands);
    call->setDoesNotThrow();
    for (unsigned i = 0; i < operands.size(); ++i) {
      if (types[i]->isIntegerTy() && types[i]->getIntegerBitWidth() < 32) call->addParamAttr(i, llvm::Attribute::ZExt);
    }
    return call;
  }

  Value* machine(size_t offset, llvm::Type* result, llvm::ArrayRef<Value*> operands) {
    llvm::SmallVector<Value*, 8> all = {thread_};
    all.append(operands.begin(), operands.end());
    llvm::CallInst* call = call_table(offset, result, all);
    call->setConvergent();
    return call;
  }

  Value* math(size_t offset, llvm::Type* result, llvm::ArrayRef<Value*> operands) {
    llvm::CallInst* call = call_table(offset, result, operands);
    call->setDoesNotAccessMemory();
    call->addFnAttr(llvm::Attribute::WillReturn);
    return call;
  }

  Value* pair(size_t offset) {
    Value* low = b_.CreateZExt(math(offset, b_.getInt16Ty(), {args_[0]}), b_.getInt32Ty());
    Value* high = b_.CreateZExt(math(offset, b_.getInt16Ty(), {args_[1]}), b_.getInt32Ty());
    return b_.CreateOr(low, b_.CreateShl(high, 16));
  }

  Value* pointer(Value* address) { return b_.CreateIntToPtr(address, b_.getPtrTy()); }

  /// Element-aligned: a host image runs on tensors of any allocation.
  Value* load() { return b_.CreateAlignedLoad(function_->getReturnType(), pointer(args_[0]), llvm::Align(1)); }

  Value* masked_load(AccessWidth width) {
    llvm::BasicBlock* entry = b_.GetInsertBlock();
    llvm::BasicBlock* read = llvm::BasicBlock::Create(module_.getContext(), "read", function_);
    llvm::BasicBlock* done = llvm::BasicBlock::Create(module_.getContext(), "done", function_);
    b_.CreateCondBr(args_[1], read, done);
    b_.SetInsertPoint(read);
    Value* loaded = load();
    b_.CreateBr(done);
    b_.SetInsertPoint(entry->getTerminator());
    Value* fill = args_[2];
    if (width.parts > 1) {
      fill = llvm::PoisonValue::get(function_->getReturnType());
      for (unsigned i = 0; i < width.parts; ++i) fill = b_.CreateInsertValue(fill, args_[2 + i], i);
    }
    b_.SetInsertPoint(done);
    llvm::PHINode* merged = b_.CreatePHI(function_->getReturnType(), 2);
    merged->addIncoming(fill, entry);
    merged->addIncoming(loaded, read);
    return merged;
  }

  Value* store(AccessWidth width, bool masked) {
    llvm::BasicBlock* done = nullptr;
    if (masked) {
      llvm::BasicBlock* write = llvm::BasicBlock::Create(module_.getContext(), "write", function_);
      done = llvm::BasicBlock::Create(module_.getContext(), "done", function_);
      b_.CreateCondBr(args_[1], write, done);
      b_.SetInsertPoint(write);
    }
    Value* target = pointer(args_[0]);
    for (unsigned i = 0; i < width.parts; ++i) {
      b_.CreateAlignedStore(args_[(masked ? 2 : 1) + i], b_.CreateConstGEP1_64(b_.getInt8Ty(), target, i * 4),
                            llvm::Align(1));
    }
    if (masked) {
      b_.CreateBr(done);
      b_.SetInsertPoint(done);
    }
    return nullptr;
  }

  static llvm::AtomicOrdering ordering(llvm::StringRef order) {
    if (order == "acquire") return llvm::AtomicOrdering::Acquire;
    if (order == "release") return llvm::AtomicOrdering::Release;
    if (order == "acq_rel") return llvm::AtomicOrdering::AcquireRelease;
    return llvm::AtomicOrdering::Monotonic;
  }

  /// `modifiers`: ".relaxed.add.u32".
  Value* atomic(llvm::StringRef modifiers) {
    using Op = llvm::AtomicRMWInst::BinOp;
    llvm::SmallVector<llvm::StringRef, 5> parts;
    modifiers.split(parts, '.');
    const llvm::StringRef fn = parts[2];
    const llvm::StringRef type = parts.back();
    const bool is_signed = type.starts_with("s");
    Value* value = args_[1];
    Op op = Op::Xchg;
    if (fn == "add") op = Op::Add;
    if (fn == "min") op = is_signed ? Op::Min : Op::UMin;
    if (fn == "max") op = is_signed ? Op::Max : Op::UMax;
    if (fn == "and") op = Op::And;
    if (fn == "or") op = Op::Or;
    if (fn == "xor") op = Op::Xor;
    if (type.starts_with("f")) {
      op = Op::FAdd;
      value = b_.CreateBitCast(value, type == "f32" ? b_.getFloatTy() : b_.getDoubleTy());
    }
    Value* old = b_.CreateAtomicRMW(op, pointer(args_[0]), value, llvm::MaybeAlign(), ordering(parts[1]));
    return b_.CreateBitCast(old, args_[1]->getType());
  }

  Value* compare_and_swap(llvm::StringRef order) {
    const llvm::AtomicOrdering success = ordering(order);
    const llvm::AtomicOrdering failure = llvm::AtomicCmpXchgInst::getStrongestFailureOrdering(success);
    Value* pair = b_.CreateAtomicCmpXchg(pointer(args_[0]), args_[1], args_[2], llvm::MaybeAlign(), success, failure);
    return b_.CreateExtractValue(pair, 0);
  }

  Value* shared_read(AccessWidth width) {
    llvm::Type* type = function_->getReturnType();
    Value* buffer = b_.CreateAlloca(type);
    machine(offsetof(KaonSimtTable, read_shared), b_.getVoidTy(),
            {args_[0], buffer, b_.getInt32(width.bits / 8 * width.parts), args_[1]});
    return b_.CreateLoad(type, buffer);
  }

  Value* shared_write(AccessWidth width) {
    llvm::Type* part = b_.getIntNTy(width.bits);
    Value* buffer = b_.CreateAlloca(llvm::ArrayType::get(part, width.parts));
    for (unsigned i = 0; i < width.parts; ++i) b_.CreateStore(args_[1 + i], b_.CreateConstGEP1_32(part, buffer, i));
    return machine(offsetof(KaonSimtTable, write_shared), b_.getVoidTy(),
                   {args_[0], buffer, b_.getInt32(width.bits / 8 * width.parts), args_[1 + width.parts]});
  }

  llvm::Module& module_;
  llvm::IRBuilder<> b_;
  llvm::Function* function_ = nullptr;
  Value* thread_ = nullptr;
  llvm::SmallVector<Value*, 8> args_;
};

}  // namespace

void bind_host(llvm::Module& module) {
  HostBinder binder(module);
  bind_device_functions(module, [&](llvm::Function& function, const DeviceFunctionInfo& info,
                                    llvm::StringRef modifiers) { binder.bind(function, info, modifiers); });
}

}  // namespace kaon::compiler::codegen
